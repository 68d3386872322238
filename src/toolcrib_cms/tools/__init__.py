"""WHAT an agent can do with the site: one file a category, and beside it what is said about its tools (YAML).

A tool is a method whose docstring begins with its description. Each call is one transaction: it happens whole or not at
all. What cannot be done is a `RefusalError`, which becomes a failed result that says what to do next.
"""
