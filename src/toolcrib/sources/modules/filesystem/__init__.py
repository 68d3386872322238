"""The module `filesystem`: files of the work folder, read, searched and changed.

`tools.py` has the tools, `metadata.py` their phrases and protocols. `search.py` finds lines with `line_matcher.py`,
which runs as a separate process.
"""
