"""An edit in words, the same in every display."""

from __future__ import annotations

from skillopt_cli.core.edits import REWRITE, SUGGEST, Edit
from skillopt_cli.runlog.text.format import one_line, shorten

_VERBS = {
    "append": "add",
    "insert_after": "insert",
    "replace": "replace",
    "delete": "delete",
    SUGGEST: "suggest",
    REWRITE: "rewrite as",
}


def edit_words(edit: Edit, limit: int = 60) -> str:
    """An edit in words; each of its texts takes at most `limit` characters."""
    place = f" in {shorten(edit.file, limit)}" if edit.file else ""
    verb = _VERBS.get(edit.op, one_line(edit.op) or "(no operation)")
    content, target = (f'"{shorten(text, limit)}"' for text in (edit.content, edit.target))
    if edit.op == "insert_after":
        return f"{verb} {content} after {target}{place}"
    if edit.op == "replace":
        return f"{verb} {target} with {content}{place}"
    return f"{verb} {target if edit.op == 'delete' else content}{place}"
