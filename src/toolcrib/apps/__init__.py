"""A whole agent in one YAML file: read, checked with line and column, and built from the other rooms.

The file says which tools there are, who may call them, which model thinks and how it is spoken to; nothing in it is
code. What it reads from the environment is expanded late, where it is used, and shows nowhere. This room knows no
terminal and no server: doors get an `App` and run it.
"""
