"""An HTML page as a tree, as a browser reads it: for tests that look at what a page says."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree.ElementTree import Element, TreeBuilder

_VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tree = TreeBuilder()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tree.start(tag, {key: value or "" for key, value in attrs})
        if tag in _VOID:
            self.tree.end(tag)
        else:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        # Strict where a browser is not: what is opened last is closed first.
        assert self.open.pop() == tag
        self.tree.end(tag)

    def handle_data(self, data: str) -> None:
        if self.open:
            self.tree.data(data)


def parsed(page: str) -> Element:
    """The root element.

    Raises:
        AssertionError: elements are not closed in the order they were opened.
    """
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader.tree.close()


def text_of(element: Element) -> str:
    """What an element says, with single spaces."""
    return " ".join("".join(element.itertext()).split())
