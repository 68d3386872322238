"""The text of a web page: without menus and ads where trafilatura is installed, without tags in any case."""

import re
from html.parser import HTMLParser

_UNSEEN = {"script", "style", "noscript", "template", "svg", "iframe"}
_BLOCKS = {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "pre", "table", "ul"}


def readable(html: str, url: str) -> tuple[str, str]:
    """Title and text of a page. Slow for large pages: run it in a thread."""
    plain = _PlainText()
    plain.feed(html)
    plain.close()
    title, text = plain.result()
    try:
        import trafilatura  # late, and only where it is installed: loads lxml and its language data
    except ImportError:  # pragma: no cover  # installed wherever the tests run
        return title, text
    best = trafilatura.extract(html, url=url, include_comments=False, include_tables=True)
    return title, best or text


class _PlainText(HTMLParser):
    """What is left without tags."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._text: list[str] = []
        self._title: list[str] = []
        self._unseen = 0
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = not (self._unseen or self._title)  # pictures in a page have titles too
        elif tag in _UNSEEN:
            self._unseen += 1
        elif tag in _BLOCKS:
            self._text.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag in _BLOCKS:
            self._text.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data)
        elif not self._unseen:
            self._text.append(data)

    def result(self) -> tuple[str, str]:
        lines = (" ".join(line.split()) for line in "".join(self._text).splitlines())
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
        return " ".join("".join(self._title).split()), text
