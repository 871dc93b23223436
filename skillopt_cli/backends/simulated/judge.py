"""The simulated judge: right is what says the reference, whatever stands around it."""

from __future__ import annotations

import re

_SECTION = re.compile(r"^## +(.+?)[ \t]*\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"[\w.%-]*\w%?")
_NOTHING = "(no answer)"


def is_judgement(user: str) -> bool:
    """Whether a message lays a case before a judge."""
    return "## Reference answer\n" in user and "## Answer to judge\n" in user


def verdict(system: str, user: str) -> str:
    """One of the words that the rubric allows."""
    sections = {title: body.strip() for title, body in _SECTION.findall(user)}
    answer, reference = sections["Answer to judge"], sections["Reference answer"]
    if answer == _NOTHING:
        return "NOT_ATTEMPTED" if "NOT_ATTEMPTED" in system else "INCORRECT"
    said, wanted = _words(answer), _words(reference)
    found = any(said[i : i + len(wanted)] == wanted for i in range(len(said)))
    return "CORRECT" if wanted and found else "INCORRECT"


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
