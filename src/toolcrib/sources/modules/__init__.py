"""Tools that come with Toolcrib, in modules: files, memory, web and shell.

A module is a function that gets a work folder and options and gives tools. `module("filesystem", workdir=folder)` finds
it by name, here or in an installed package (entry point group `toolcrib.modules`). A module knows no catalog, no
index and no session; what it needs of them is handed in.
"""
