"""The simulated optimizer's rewrites: what it would edit, said as suggestions or as whole texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Answer = Mapping[str, Any]
Edit = dict[str, Any]

_DROP = "Leave out the line: "


def suggesting(analysis: Answer) -> Answer:
    """An analysis with suggestions in the place of its edits."""
    others = {key: value for key, value in analysis.items() if key != "edits"}
    return {**others, "suggestions": [_suggestion(edit) for edit in analysis["edits"]]}


def _suggestion(edit: Edit) -> Edit:
    """The edit in words; the sentence it adds is the instruction itself."""
    sentence = _sentence(edit["content"] or edit["target"])
    adds = edit["op"] == "append"
    return {
        "title": "a rule to add" if adds else "a line to drop",
        "instruction": sentence if adds else f"{_DROP}{sentence}",
        "support": edit["support"],
        "evidence": edit["evidence"],
    }


def rewriting(analysis: Answer, skill: str) -> Answer:
    """An analysis with a whole new skill in the place of its edits; none when there are none."""
    others = {key: value for key, value in analysis.items() if key != "edits"}
    suggestions = [_suggestion(edit) for edit in analysis["edits"]]
    return {**others, **(rewritten(skill, suggestions) if suggestions else _unchanged())}


def rewritten(skill: str, suggestions: Sequence[Edit]) -> Answer:
    """The skill without the lines to drop and with the sentences to add, at its end."""
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
    """Equal instructions as one suggestion with the sum of their support."""
    merged: dict[str, Edit] = {}
    for suggestion in suggestions:
        known = merged.setdefault(str(suggestion.get("instruction")), {**suggestion, "support": 0})
        support = suggestion.get("support")
        known["support"] += support if isinstance(support, int) else 0
    return {
        "reasoning": f"{len(suggestions)} suggestions were merged into {len(merged)}.",
        "suggestions": list(merged.values()),
    }


def merged_texts(skill: str, candidates: Sequence[Edit]) -> Answer:
    """The skill without the lines that some candidate dropped, with those that some added."""
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
    """A learning rate from none to one more than there are edits."""
    return {
        "reasoning": f"There are {available} edits.",
        "learning_rate": int(chance * (available + 2)),
        "confidence": round(chance, 3),
        "risk_notes": ["edits may contradict each other"],
    }


def _unchanged() -> Answer:
    return {"change_summary": [], "new_skill": ""}


def _sentence(line: str) -> str:
    return line.strip().removeprefix("- ")
