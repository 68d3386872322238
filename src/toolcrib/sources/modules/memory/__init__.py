"""The module `memory`: short notes that outlive a conversation, recalled by what they mean.

`tools.py` holds the tools; `note_seams.py` says what a place for notes and a finder of notes must do;
`note_file.py` keeps them in the work folder; `note_shelf.py` shows them to an index, as tools; `word_finder.py` does
without one. Whoever builds an app hands in its own place and index.
"""
