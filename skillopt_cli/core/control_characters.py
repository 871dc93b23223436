r"""Control characters: what is left of them in a program's output, in a reply and in an answer.

No control character but tab and line break enters a skill. In JSON, `\f` of an undoubled `\frac` is
one: such letters get their backslash back.
"""

from __future__ import annotations

import re

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n)")
"""A control character that no skill may hold, with those that reverse the direction of text."""
_CANDIDATE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Much faster to search for: a control character, or the first half of a line break."""
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-9:;=>?]*[ -&]?[@-~]"
    r"|\x1b(?:\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[PX^_][^\x1b\n]*\x1b\\|[()*+][0-9AB]|[78=>DEHMNOZc])"
)
"""An escape sequence of a terminal: a title, a colour or a movement, or a short one."""
_BREAK = re.compile(r"\r(?!\n)|[\v\f\x85]")
_OVERWRITTEN = re.compile(r"[^\r\n]*\r+(?=[^\r\n])")
_UNDOUBLED = re.compile(
    r"[\b\f]|\r(?=[A-Za-z?*+])"
    r"|\t(?=(?:heta|au|imes|frac|riangle|herefore|ext(?:bf|it|rm|tt)?(?=\{)|ilde(?=\{))(?![a-z]))"
    r"|\n(?=(?:abla|otin|eq)(?![A-Za-z]))"
)
r"""The control character that JSON makes of a lone backslash: `\beta`, `\theta`, `\nabla`."""
_LETTERS = {"\b": r"\b", "\f": r"\f", "\r": r"\r", "\t": r"\t", "\n": r"\n"}


def control_in(text: str) -> str:
    """Return the name of the first control character, such as U+000C; "" for none."""
    found = CONTROL.search(text) if _CANDIDATE.search(text) else None
    return f"U+{ord(found[0]):04X}" if found else ""


def controls_told(text: str) -> str:
    """Return how many control characters a text holds, and where the first is; "" for none."""
    found = CONTROL.findall(text) if _CANDIDATE.search(text) else []
    if not found:
        return ""
    at = text.index(found[0])
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    first = f"U+{ord(found[0]):04X} in line {line}, column {column}"
    if len(found) == 1:
        return f"the control character {first}"
    return f"{len(found):,} control characters, the first of which is {first}"


def terminal_text(output: str) -> str:
    """Return a program's output without escape sequences; of an overwritten line, the last one."""
    if _CANDIDATE.search(output) is None:
        return output
    return CONTROL.sub("", _OVERWRITTEN.sub("", _ESCAPE.sub("", output)))


def without_controls(text: str) -> str:
    """Return a model's text without escape sequences and control characters.

    Old line and page breaks become line breaks.
    """
    if _CANDIDATE.search(text) is None:
        return text
    return CONTROL.sub("", _BREAK.sub("\n", _ESCAPE.sub("", text)))


def with_backslashes(text: str) -> str:
    """Return a text of decoded JSON with the backslashes that were not doubled in it.

    Other control characters are removed.
    """
    text = _UNDOUBLED.sub(lambda found: _LETTERS[found[0]], text)
    return CONTROL.sub("", text)
