"""The tests of Toolcrib: a folder for each room of `src/`, and what they share in `support/`."""
