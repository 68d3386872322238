"""The module `web`: pages read as text, the web searched where that is set up, files downloaded into the work folder.

`tools.py` holds the tools; `search_services.py` asks the services that search; `readable.py` makes text of a page.
Everything that goes out goes through `sources/web_guard.py`.
"""
