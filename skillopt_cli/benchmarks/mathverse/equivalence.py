"""Whether two answers are the same mathematics: by text, then by algebra (package math-verify)."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence

_SET = re.compile(r"\\(?:mathrm|text|textbf|mathbf|mathsf)\s*\{([^{}]*)\}")
_SPACE = re.compile(r"\\[,;:! ]|~|\s+")
_PUBLISHED = re.compile(r"\\mathrm|\\,|[${}~]")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_WORD = re.compile(r"[A-Za-z]{2,}")
_UNIT = re.compile(r"(?<=[\d}) ])(?:mm|cm|dm|km|m|ft|in|kg|g|s|h|min)(?:\^?\{?[23]\}?)?$")
_LETTER_UNIT = re.compile(r"(?<=[\d})])[mgsh]$")
"""A letter right behind a number may as well be a factor."""
_GROUPING = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NAMED = re.compile(r"\\?[A-Za-z]+(?: ?[A-Za-z]+|_\{?\w+\}?|\([A-Za-z]\))* ?=[^=]*")
"""An equation that only names its right side: `x=5`, `\angle A=30`, `f(x)=2x`."""
_TOWER = re.compile(r"\^[^^]*\^|\^\s*\{?\s*-?\d{3,}|!|\d{16,}")
_MATHS = frozenset((
    *("sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "log", "ln", "exp"),
    *("sqrt", "pi", "theta", "alpha", "beta", "gamma", "lambda", "mu"),
))
_LONGEST = 200
_DEEPEST = 8
_SECONDS = 30


def same_text(answer: str, reference: str) -> bool:
    """Whether two answers agree apart from case, spacing, dollar signs and upright type.

    Braces count: without them 1/23 and 12/3 would be written alike.
    """
    return plain_text(answer) == plain_text(reference)


def same_as_published(answer: str, reference: str) -> bool:
    """Whether two answers agree as the published code compares them, which drops braces."""
    return _published(answer) == _published(reference)


def same_mathematics(answer: str, reference: str) -> bool:
    """Whether algebra shows two answers to be equal. False when it cannot decide, as for words.

    What could take long is not tried: this must be a short function of the two texts.
    """
    texts = [_bare(text) for text in (reference, answer)]
    if not all(map(_is_expression, texts)) or _drops_something(texts, [reference, answer]):
        return False
    parts = [_parts(text) for text in texts]
    if len(parts[0]) != len(parts[1]):
        return _verified(texts[0], texts[1])
    # Whether the order of several values matters depends on the question; the library drops it.
    return all(_verified(one, other) for one, other in zip(*parts, strict=True))


def _drops_something(texts: Sequence[str], written: Sequence[str]) -> bool:
    """Whether the library would ignore a difference between two answers.

    Args:
        texts: them, bare.
        written: the same, as they were.
    """
    one, other = texts
    # Whether 50 may mean 50 % depends on the question; A' is another point than A.
    if any(one.count(mark) != other.count(mark) for mark in "%'"):
        return True
    # Of an equation it compares the right side: x + y = 3 would equal 3.
    if ("=" in one) != ("=" in other) and not _NAMED.fullmatch(one if "=" in one else other):
        return True
    units = [match[0] if (match := _UNIT.search(text)) else "" for text in texts]
    if all(units):
        return units[0] != units[1]  # 5 m would equal 5 cm
    return any(units) and any(map(_LETTER_UNIT.search, map(str.strip, written)))


def _parts(text: str) -> list[str]:
    """The values that a text lists, commas within brackets and numbers aside."""
    text = _GROUPING.sub("", text)
    if _whole(text):
        text = text[1:-1]
    parts, depth = [""], 0
    for character in text:
        depth += (character in "{([") - (character in "})]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _whole(text: str) -> bool:
    """Whether one pair of parentheses is around all of a text."""
    return text.startswith("(") and text.endswith(")") and _balanced(text[1:-1])


def _verified(reference: str, answer: str) -> bool:
    from math_verify import parse, verify
    from math_verify.errors import TimeoutException

    # Its time limits are alarms, which only a main thread can set.
    limit = _SECONDS if threading.current_thread() is threading.main_thread() else None
    try:
        parsed = [
            parse(f"${text}$", parsing_timeout=limit, raise_on_error=True)
            for text in (reference, answer)
        ]
        return all(parsed) and bool(verify(*parsed, timeout_seconds=limit, raise_on_error=True))
    # Algebra on what a model wrote fails in many ways, and a limit is no `Exception` there.
    except (Exception, TimeoutException):
        return False


def _is_expression(text: str) -> bool:
    """Whether a text is mathematics rather than words about it, and cheap to work out."""
    if not text or len(text) > _LONGEST or _TOWER.search(text) or not _balanced(text):
        return False
    words = _WORD.findall(_COMMAND.sub(" ", _UNIT.sub("", text)))
    return all(word.lower() in _MATHS for word in words)


def _balanced(text: str) -> bool:
    """Whether brackets are closed, and not deep within each other."""
    depth = 0
    for character in text:
        depth += (character in "{(") - (character in "})")
        if not 0 <= depth <= _DEEPEST:
            return False
    return depth == 0


def plain_text(text: str) -> str:
    """The text without case, spacing, dollar signs and upright type."""
    return _bare(text).lower()


def _bare(text: str) -> str:
    text = text.replace("$", "").replace("\\left", "").replace("\\right", "")
    return _SPACE.sub(" ", _SET.sub(r"\1", text)).strip().rstrip(".")


def _published(text: str) -> str:
    return " ".join(_PUBLISHED.sub("", text).split()).lower()
