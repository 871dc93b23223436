"""The simulated optimizer's rewrites: its edits as suggestions or as whole texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Answer = Mapping[str, Any]
Edit = dict[str, Any]

_DROP = "Leave out the line: "


def suggesting(analysis: Answer) -> Answer:
    """Return an analysis with suggestions instead of edits."""
    others = {key: value for key, value in analysis.items() if key != "edits"}
    return {**others, "suggestions": [_suggestion(edit) for edit in analysis["edits"]]}


def _suggestion(edit: Edit) -> Edit:
    """Return the edit in words; for an added sentence, the instruction is the sentence."""
    sentence = _sentence(edit["content"] or edit["target"])
    adds = edit["op"] == "append"
    return {
        "title": "a rule to add" if adds else "a line to drop",
        "instruction": sentence if adds else f"{_DROP}{sentence}",
        "support": edit["support"],
        "evidence": edit["evidence"],
        "tasks": edit.get("tasks", []),
    }


def rewriting(analysis: Answer, skill: str) -> Answer:
    """Return an analysis with a whole new skill instead of edits; none without edits."""
    others = {key: value for key, value in analysis.items() if key != "edits"}
    suggestions = [_suggestion(edit) for edit in analysis["edits"]]
    unchanged = {"change_summary": [], "new_skill": ""}
    return {**others, **(rewritten(skill, suggestions) if suggestions else unchanged)}


def rewritten(skill: str, suggestions: Sequence[Edit]) -> Answer:
    """Return the skill without the lines to drop, and with new sentences at its end."""
    lines = skill.strip("\n").split("\n")
    changes = []
    for suggestion in suggestions:
        instruction = str(suggestion.get("instruction", ""))
        if instruction.startswith(_DROP):
            dropped = instruction.removeprefix(_DROP)
            lines = [line for line in lines if _sentence(line) != dropped]
            changes.append(f"dropped: {dropped}")
        elif f"- {instruction}" not in lines:
            lines.append(f"- {instruction}")
            changes.append(f"added: {instruction}")
    text = "\n".join(lines) + "\n"
    reasoning = f"{len(changes)} of {len(suggestions)} suggestions changed the text."
    return {"reasoning": reasoning, "change_summary": changes, "new_skill": text}


def merged_suggestions(suggestions: Sequence[Edit]) -> Answer:
    """Merge equal instructions into one suggestion with the sum of their support."""
    merged: dict[str, Edit] = {}
    for suggestion in suggestions:
        known = merged.setdefault(str(suggestion.get("instruction")), {**suggestion, "support": 0})
        support = suggestion.get("support")
        known["support"] += support if isinstance(support, int) else 0
        if known is not suggestion and suggestion.get("tasks"):
            known["tasks"] = list(dict.fromkeys([*known["tasks"], *suggestion["tasks"]]))
    return {
        "reasoning": f"{len(suggestions)} suggestions were merged into {len(merged)}.",
        "suggestions": list(merged.values()),
    }


def merged_texts(skill: str, candidates: Sequence[Edit]) -> Answer:
    """Return the skill without lines that a candidate dropped, with lines that one added."""
    old = skill.strip("\n").split("\n")
    texts = [str(c.get("new_skill", "")).strip("\n").split("\n") for c in candidates]
    kept = [line for line in old if all(line in text for text in texts)]
    added = dict.fromkeys(line for text in texts for line in text if line not in old)
    changes = dict.fromkeys(str(c) for one in candidates for c in one.get("change_summary", ()))
    return {
        "reasoning": f"{len(candidates)} texts were merged.",
        "change_summary": list(changes),
        "new_skill": "\n".join([*kept, *added]) + "\n",
    }


def rated(available: int, chance: float) -> Answer:
    """Return a learning rate from 0 to one more than the number of edits."""
    return {
        "reasoning": f"There are {available} edits.",
        "learning_rate": int(chance * (available + 2)),
        "confidence": round(chance, 3),
        "risk_notes": ["edits may contradict each other"],
    }


def _sentence(line: str) -> str:
    return line.strip().removeprefix("- ")
