"""The command line. Commands parse arguments and print results; the library does the work.

This package may import every other one, and none imports it.
"""
