"""The titled parts of a user message."""

from __future__ import annotations

import re

_SECTION = re.compile(r"^## +(.+?)[ \t]*\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def last_section(user: str, title: str) -> str:
    """The text of the last section of that title, in any case; "" when there is none."""
    found = [body for name, body in _SECTION.findall(user) if name.lower() == title]
    return found[-1].strip() if found else ""
