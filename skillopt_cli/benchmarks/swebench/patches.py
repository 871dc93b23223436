"""Which files a patch touches, and a patch without some of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

_SIDE = re.compile(r'^(?:---|\+\+\+) (?:"(?P<quoted>[^"]*)"|(?P<plain>[^\t\n]*))', re.MULTILINE)
_OTHER = re.compile(
    r'^(?:rename|copy) (?:from|to) (?:"(?P<quoted>[^"]*)"|(?P<plain>[^\n]*))', re.MULTILINE
)
_HEAD = re.compile(r'^diff --git (?:"a/(?P<quoted>[^"]*)"|a/(?P<plain>.*?)) "?b/.*$', re.MULTILINE)
_FILE = re.compile(r"^(?=diff --git )", re.MULTILINE)


def paths_of(patch: str) -> frozenset[str]:
    """The files a patch in git's format changes, adds, deletes, or renames from or to.

    Lines of its hunks that look like headers may add names; none is left out.
    """
    found = set[str]()
    for match in _SIDE.finditer(patch):
        name = _name(match)
        if name != "/dev/null":
            found.add(name.partition("/")[2] or name)
    found.update(_name(match) for match in _OTHER.finditer(patch))
    # An empty file, or one of bytes, has no other line with its name.
    found.update(_name(match) for match in _HEAD.finditer(patch))
    return frozenset(found)


def without(patch: str, unwanted: Callable[[str], bool]) -> tuple[str, int]:
    """A patch in git's format without some files, and how many these are.

    Args:
        unwanted: whether to leave a file out, by its path.
    """
    files = _FILE.split(patch)
    # No line of a hunk begins as a file does; but it may look like another line of a file's head.
    kept = [f for f in files if not any(map(unwanted, paths_of(f.partition("\n@@ ")[0])))]
    return "".join(kept), len(files) - len(kept)


def _name(match: re.Match[str]) -> str:
    quoted = match["quoted"]
    if quoted is None:
        return match["plain"].rstrip("\r")
    # Git writes odd letters as C does: octal bytes.
    return bytes(ast.literal_eval(f'b"{quoted}"')).decode(errors="replace")
