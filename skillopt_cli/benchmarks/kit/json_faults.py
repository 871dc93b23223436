"""Faults of JSON files in words: where, what, and what to do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TypeGuard

from skillopt_cli.core.errors import DataError


class Malformed(ValueError):
    """Text that Python's parser takes for JSON, and this reader does not; holds the reason."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.hint = hint


def fault(message: str, text: str, at: int) -> tuple[str, str]:
    """What is wrong at a place of a text that is no JSON, and what to do."""
    found, before = text[at : at + 1], text[max(0, at - 100) : at].rstrip(" \t\r\n")
    if found in ("}", "]") and found and before.endswith(","):
        return f"a comma before `{found}`", "remove the comma"
    if message.startswith("Illegal trailing comma"):
        return "a comma before the end of an object or a list", "remove the comma"
    if message.startswith("Extra data"):
        return "more text follows the first object", "write one object per line"
    if found == "'":
        return f"{message}, found a single quote", 'JSON has double quotes: {"id": "one"}'
    if re.search(r"(?<![\w.\"])-?0\Z", before) and found.isdigit():
        return "a number begins with 0", "put it in quotes"
    if message.startswith("Invalid control character") and found not in "\r\n":
        return f"U+{ord(found):04X} in a text", f"write that character as {json.dumps(found)[1:-1]}"
    if message.startswith(("Invalid control character", "Unterminated string")):
        return "a text goes on over the end of the line", "write a line break in it as \\n"
    return message, "" if found else "each object has to be whole: in a file of lines, on one line"


def is_placed(error: Exception) -> TypeGuard[json.JSONDecodeError]:
    """Whether an error of the parser names its place."""
    return isinstance(error, json.JSONDecodeError)


def not_json(path: Path, line: int, column: int, error: Exception) -> DataError:
    """The error for a place in a JSON file; column 0 is unknown."""
    place = f"{path}, line {line}" + (f", column {column}" if column else "")
    if isinstance(error, RecursionError):
        return DataError(f"{place}: nested too deeply")
    if is_placed(error):
        why, hint = fault(error.msg, error.doc, error.pos)
    else:
        why, hint = str(error), error.hint if isinstance(error, Malformed) else ""
    return DataError(f"{place}: not valid JSON ({why})", hint)
