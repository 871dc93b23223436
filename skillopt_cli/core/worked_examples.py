"""Worked examples: train tasks quoted in a skill with their answers, below a line that marks each.

The mark is for the people who read the skill and for the leak guard. It is an HTML comment of one
line, and no part of what a target reads.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_MARK = r"<!-- worked example: ([^\n]*?) -->"
MARK_LINE = re.compile(rf"^{_MARK}[ \t]*\r?\n", re.MULTILINE)
_MARKED = re.compile(rf"^{_MARK}[ \t]*\r?\n((?:[^\n]*\S[^\n]*(?:\n|\Z))*)", re.MULTILINE)
_RULES_BELOW = re.compile(r"^(?!- |<!-- )([^\n]*\S)(\r?\n)((?:- [^\n]*(?:\n|\Z))+)\Z", re.MULTILINE)
_UNSAFE = re.compile(r"(?:\s|>|--)+")


def mark(task_id: str) -> str:
    """The line above a worked example; an id keeps what cannot end a comment."""
    return f"<!-- worked example: {safe_id(task_id)} -->\n"


def safe_id(task_id: str) -> str:
    """A task id as a mark holds it."""
    return _UNSAFE.sub("-", task_id)


def quotes(text: str, task_id: str) -> bool:
    """Whether a text holds the marked worked example of a task."""
    return mark(task_id).rstrip() in text


def without_marks(text: str) -> str:
    """The text as a target reads it: the examples stay, the lines that mark them go."""
    return MARK_LINE.sub("", text)


def set_apart(text: str) -> str:
    """The text with a blank line between each marked example and the rules right below it."""
    return _MARKED.sub(lambda found: _RULES_BELOW.sub(r"\1\2\2\3", found[0]), text)


def without_examples(text: str, task_ids: Collection[str]) -> str:
    """The text without its marked examples of these tasks.

    An example is the paragraph below its mark, up to the next blank line.
    """
    known = {safe_id(task_id) for task_id in task_ids}
    return _MARKED.sub(lambda found: "" if found[1] in known else found[0], text)
