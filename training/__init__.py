"""How the built-in embedder is made. Not part of the wheel."""
