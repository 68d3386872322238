"""DOOR 3: the command line. Verbs parse and print; the work is in the library. May use everything, nobody uses it."""
