"""Image files: what we take in, how they lie on disk, and how the seed's are drawn."""
