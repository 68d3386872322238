"""Tools that come with Toolcrib, in modules: files, memory, web and shell.

A module is a function that takes a work folder and options and returns tools. `module("filesystem", workdir=folder)`
finds it by name, here or in an installed package (entry point group `toolcrib.modules`). A module knows no catalog, no
index and no session; what it needs of them is passed to it.
"""
