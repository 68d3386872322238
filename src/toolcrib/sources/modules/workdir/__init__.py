"""The work folder: the one place on disk that modules may touch, and the only way into it.

`paths.py` reads what a model wrote, `workdir.py` walks there without ever leaving, `files.py` reads and writes whole
files, `tree.py` looks around, `refusals.py` says what the disk refused.
"""
