"""HOW WELL we search, and how fast, beside other libraries on the same data. `README.md` has the method."""
