"""Surfaces: the tools by which a model finds others. Each is made for one toolbox.

`search.py` is one search tool, `browse.py` five tools for clients whose list of tools cannot change, `domains.py` one
tool for each domain; `display.py` is what they share.
"""
