"""The demo site: a plant shop named Verdant, written into an empty database."""
