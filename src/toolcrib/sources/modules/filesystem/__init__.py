"""The module `filesystem`: files of the work folder, read, searched and changed.

`reading.py` and `changing.py` hold the tools, `words.py` what is said about them, `tools.py` makes them of options.
`grep.py` searches with `line_matcher.py`, which runs as a process of its own, and lets `ripgrep.py` name the files
worth reading; `globs.py` and `texts.py` are pure.
"""
