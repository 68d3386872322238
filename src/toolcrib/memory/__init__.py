"""WHAT a session remembers: the things its results spoke of, and the tools it found and used.

Values and pure functions. Where a memory is kept, and which model reads it, is not known here.
"""
