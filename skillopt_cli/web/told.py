"""Answers that the page after the next shows: a form is answered by an address to go on to."""

from __future__ import annotations

import secrets
from collections import OrderedDict

MOST = 100
"""Answers that are kept; the oldest goes first."""


class Told:
    """Short texts by a name nobody guesses, so that an address alone can put no words here."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, str] = OrderedDict()

    def keep(self, text: str) -> str:
        """Keep a text. Returns its name."""
        name = secrets.token_urlsafe(9)
        self._texts[name] = text
        while len(self._texts) > MOST:
            self._texts.popitem(last=False)
        return name

    def get(self, name: str) -> str:
        """The text of that name, empty where there is none."""
        return self._texts.get(name, "")
