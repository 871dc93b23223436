"""Reference answers in all the forms that files have them in.

The published reader takes any text for a Python literal first, which turns "1,200" into a pair of
numbers and "1.50" into 1.5. Here only what is a list or an object on its face is read as one, and
numbers stay as they are written.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from typing import Any

_WITHIN = ("text", "answer", "value")
_AROUND = ("answers", "ground_truth", "answer")
_LONGEST = 100_000


def references(value: Any) -> tuple[str, ...]:
    """The texts in a value: itself, or what its list or object holds; blank ones are left out.

    Args:
        value: text, number, list, object with `answers`, `ground_truth` or `answer`, or a text that
            is such a list or object in JSON or Python. Items of a list may be objects with `text`,
            `answer` or `value`.
    """
    if isinstance(value, str):
        value = _opened(value)
    if isinstance(value, Mapping):
        inner = next((value[key] for key in _AROUND if value.get(key) is not None), None)
        return () if isinstance(inner, Mapping) else references(inner)
    items = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    texts = (_text(item) for item in items)
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


def _text(item: Any) -> str:
    if isinstance(item, Mapping):
        item = next((item[key] for key in _WITHIN if item.get(key) is not None), None)
    if isinstance(item, str):
        return item
    return str(item) if isinstance(item, int | float) and not isinstance(item, bool) else ""


def _opened(text: str) -> Any:
    """The list or object a text is; the text itself where it is none."""
    bare = text.strip()
    if bare[:1] + bare[-1:] not in ("[]", "{}") or len(bare) > _LONGEST:
        return text
    try:
        return json.loads(bare, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        pass
    try:
        return _literal(ast.parse(bare, mode="eval").body, bare)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def _literal(node: ast.expr, source: str) -> Any:
    """A Python literal of texts, with numbers as they are written.

    Raises:
        ValueError: it is anything else.
    """
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(item, source) for item in node.elts]
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        return dict(zip(keys, (_literal(value, source) for value in node.values), strict=True))
    if isinstance(node, ast.Constant) and isinstance(node.value, str | None):
        return node.value
    written = ast.get_source_segment(source, node)
    if written and isinstance(node, ast.Constant | ast.UnaryOp):
        return written
    raise ValueError("not a literal")
