"""The simulated optimizer: knows the world's rules, and proposes the right one most of the time."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from skillopt_cli.backends.simulated.rewriter import (
    merged_suggestions,
    merged_texts,
    rated,
    rewriting,
    rewritten,
    suggesting,
)
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.backends.simulated.world import (
    HARMFUL,
    USELESS,
    appendix,
    chance,
    family_of,
    harm,
    held,
    missing,
    needed,
    without_appendix,
)

_SKILL = re.compile(
    r"^## Current skill\n(.*?)"
    r"(?=^## (?:Trajectory|Patch|Earlier|Previous guidance|Your notes|\d+ tasks|Suggestions"
    r"|Proposed edits|Files beside it)\b|\Z)",
    re.MULTILINE | re.DOTALL,
)
_PAIR = re.compile(r"^## Pair \d+: task `.*, (\w+)$", re.MULTILINE)
_NOTES = re.compile(r"^## Your notes from earlier epochs\n(.*)\Z", re.MULTILINE | re.DOTALL)
_TRAJECTORY = re.compile(r"^## Trajectory \d+: task `(.*)` \(", re.MULTILINE)
_QUESTION = re.compile(r"^### (?:Question|Task)\n(.*?)(?=^#{2,3} |\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^\[(\d+)\](.*)$", re.MULTILINE)
_BUDGET = re.compile(r"[Kk]eep at most (\d+) edits?")
_SUPPORT = re.compile(r"support:? (\d+)")

Edit = dict[str, Any]


@dataclass(frozen=True, slots=True)
class OptimizerRequest:
    """A request to the optimizer, and what its choices depend on.

    Attributes:
        contract: one of `CONTRACTS`.
        config: how often an edit is right, harmful or else useless, and a rule is forgotten.
        noting: whether the answer may hold appendix notes.
    """

    contract: str
    user: str
    seed: float
    config: SimulatedConfig
    noting: bool = False

    def chance(self, *causes: object) -> float:
        """Return a number in [0, 1) for a choice within this request."""
        return chance(self.seed, *causes)


def _analyse_failures(asked: OptimizerRequest) -> Mapping[str, Any]:
    skill = _skill(asked.user)
    failed: dict[int, list[str]] = {}
    for task, question in _tasks(asked.user):
        failed.setdefault(family_of(question), []).append(task)
    counts = Counter({family: len(tasks) for family, tasks in failed.items()})
    edits = [
        {**edit, "tasks": failed[family]}
        for family, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if (edit := _lesson(asked, skill, family, count)) is not None
    ]
    analysis: dict[str, Any] = {
        "reasoning": f"{sum(counts.values())} failures of {len(counts)} families were compared.",
        "failure_summary": [
            {
                "failure_type": f"wrong form of answer, family {family}",
                "count": count,
                "description": _seen(asked, skill, family),
            }
            for family, count in sorted(counts.items())
        ],
        "edits": edits + _forgotten(asked, skill, counts),
    }
    if asked.noting:
        lapsed = (_reminders(skill, family) for family in sorted(counts))
        analysis["appendix_notes"] = list(dict.fromkeys(chain.from_iterable(lapsed)))
    return analysis


def _seen(asked: OptimizerRequest, skill: str, family: int) -> str:
    seen = "the answer is right but has words around it"
    lapsed = asked.noting and _reminders(skill, family)
    return f"EXECUTION_LAPSE: {seen}" if lapsed else seen


def _reminders(skill: str, family: int) -> tuple[str, ...]:
    """Return a failing family's rules that the body states and the appendix does not."""
    if harm(family) in skill or missing(family, without_appendix(skill)):
        return ()
    return missing(family, appendix(skill))


def _lesson(asked: OptimizerRequest, skill: str, family: int, count: int) -> Edit | None:
    """Return the edit for a failing family; None if the skill cannot help it."""
    lacking = missing(family, skill)
    if not lacking:
        bad = harm(family)
        return _deletion(skill, bad, count) if bad in skill else None
    kind = asked.chance(family, "kind")
    pick = asked.chance(family, "pick")
    config = asked.config
    if kind < config.right_rate:
        sentence = lacking[0]
    elif kind < config.right_rate + config.harmful_rate:
        sentence = HARMFUL[int(pick * len(HARMFUL))]
    else:
        sentence = USELESS[int(pick * len(USELESS))]
    if sentence in _notes(asked.user):
        sentence = lacking[0]
    return _edit("append", "", f"- {sentence}\n", count)


def _forgotten(asked: OptimizerRequest, skill: str, families: Counter[int]) -> list[Edit]:
    """Sometimes delete a rule that these tasks do not need."""
    if asked.chance("forget") >= asked.config.forget_rate:
        return []
    wanted = {sentence for family in families for sentence in needed(family)}
    idle = [sentence for sentence in held(skill) if sentence not in wanted]
    if not idle:
        return []
    sentence = idle[int(asked.chance("forgotten") * len(idle))]
    return [_deletion(skill, sentence, families.total())]


def _deletion(skill: str, sentence: str, count: int) -> Edit:
    line = f"- {sentence}\n"
    return _edit("delete", line if line in skill else sentence, "", count)


def _analyse_successes(asked: OptimizerRequest) -> Mapping[str, Any]:
    questions = _questions(asked.user)
    count = len(questions)
    edits = []
    useless = 1 - asked.config.right_rate - asked.config.harmful_rate
    if count and asked.chance("habit") < useless:
        sentence = USELESS[int(asked.chance("pick") * len(USELESS))]
        edits.append(_edit("append", "", f"- {sentence}\n", count))
    return {
        "reasoning": f"{count} successes were read.",
        "success_patterns": ["short answers in the words of the text"],
        "edits": edits + _forgotten(asked, _skill(asked.user), Counter(map(family_of, questions))),
    }


def _merge(asked: OptimizerRequest) -> Mapping[str, Any]:
    """Merge the patches; equal edits become one with the sum of their support."""
    merged: dict[tuple[str, ...], Edit] = {}
    total = 0
    for edit in _patched(asked.user):
        total += 1
        change = tuple(str(edit.get(part, "")) for part in ("file", "op", "target", "content"))
        if change in merged:
            merged[change]["support"] += _support(edit)
            if named := [*_named(merged[change]), *_named(edit)]:
                merged[change]["tasks"] = named
        else:
            merged[change] = {**edit, "support": _support(edit)}
    return {
        "reasoning": f"{total} edits were merged into {len(merged)}.",
        "edits": list(merged.values()),
    }


def _rank(asked: OptimizerRequest) -> Mapping[str, Any]:
    """Select the best supported edits within the budget; equals keep their order."""
    entries = [(int(number), line) for number, line in _ENTRY.findall(asked.user)]
    support = {number: _first_int(_SUPPORT, line, 0) for number, line in entries}
    budget = _first_int(_BUDGET, asked.user, len(entries))
    order = sorted(support, key=lambda number: (-support[number], number))
    return {"reasoning": "Ranked by support.", "selected_indices": order[:budget]}


def _guide(asked: OptimizerRequest) -> Mapping[str, Any]:
    """Return the rules that regressed or failing families need and the skill lacks."""
    skill = _skill(asked.user)
    lines: list[str] = []
    for pair, question in _asked_below(_PAIR, asked.user):
        if pair[1] in ("regressed", "persistent_fail"):
            lines += [f"- {sentence}" for sentence in missing(family_of(question), skill)]
    kept = [line for line in _previous(asked.user) if line.startswith("- ")]
    points = list(dict.fromkeys([*kept, *lines]))
    text = "\n".join(points) or "- Go on as before."
    return {"reasoning": f"{len(lines)} rules were found missing.", "slow_update_content": text}


def _remember(asked: OptimizerRequest) -> Mapping[str, Any]:
    """Note the edits that the gate rejected, so that later analyses do not repeat them."""
    tried = [str(edit.get("content", "")).strip() for edit in _patched(asked.user)]
    tried += [str(s.get("instruction", "")) for s in _patched(asked.user, "suggestions")]
    earlier = [line for line in _notes(asked.user).splitlines() if line.startswith("- ")]
    lines = dict.fromkeys([*earlier, *(f"- did not help: {text}" for text in tried if text)])
    text = "\n".join(lines) or "- Nothing was turned down."
    return {"reasoning": f"{len(tried)} edits were turned down.", "meta_skill_content": text}


def _consolidate(asked: OptimizerRequest) -> Mapping[str, Any]:
    """Join the notes in pairs; rules are recognized by their words within any text."""
    _, _, listed = asked.user.partition("## Notes to shorten\n")
    notes = [line.removeprefix("- ") for line in listed.splitlines() if line.startswith("- ")]
    pairs = [" ".join(notes[at : at + 2]) for at in range(0, len(notes), 2)]
    return {"reasoning": f"{len(notes)} notes became {len(pairs)}.", "notes": pairs}


CONTRACTS: Mapping[str, Callable[[OptimizerRequest], Mapping[str, Any]]] = {
    "analyst_error": _analyse_failures,
    "analyst_success": _analyse_successes,
    "merge_failure": _merge,
    "merge_success": _merge,
    "merge_final": _merge,
    "ranking": _rank,
    "slow_update": _guide,
    "meta_skill": _remember,
    "appendix_consolidation": _consolidate,
    "analyst_error_rewrite": lambda asked: suggesting(_analyse_failures(asked)),
    "analyst_success_rewrite": lambda asked: suggesting(_analyse_successes(asked)),
    **dict.fromkeys(
        ("merge_failure_rewrite", "merge_success_rewrite", "merge_final_rewrite"),
        lambda asked: merged_suggestions(_patched(asked.user, "suggestions")),
    ),
    "rewrite": lambda asked: rewritten(_skill(asked.user), _patched(asked.user, "suggestions")),
    "analyst_error_full": lambda asked: rewriting(_analyse_failures(asked), _skill(asked.user)),
    "analyst_success_full": lambda asked: rewriting(_analyse_successes(asked), _skill(asked.user)),
    **dict.fromkeys(
        ("merge_failure_full", "merge_success_full", "merge_final_full"),
        lambda asked: merged_texts(_skill(asked.user), _patched(asked.user, "candidates")),
    ),
    "learning_rate": lambda asked: rated(len(_ENTRY.findall(asked.user)), asked.chance("rate")),
}
"""Writes the answer to a request, by the name of its schema."""


def _skill(user: str) -> str:
    found = _SKILL.search(user)
    return found.group(1) if found else ""


def _notes(user: str) -> str:
    found = _NOTES.search(user)
    return found.group(1) if found else ""


def _previous(user: str) -> list[str]:
    """Return the lines of the previous guidance."""
    _, _, rest = user.partition("## Previous guidance\n")
    return rest.partition("\n## ")[0].splitlines()


def _questions(user: str) -> list[str]:
    """Return the questions of the trajectories, in order."""
    return [question for _, question in _tasks(user)]


def _tasks(user: str) -> list[tuple[str, str]]:
    """Return task id and question of each trajectory, in order."""
    return [(found.group(1), question) for found, question in _asked_below(_TRAJECTORY, user)]


def _asked_below(heading: re.Pattern[str], user: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each match of a heading with the first question below it."""
    found = list(heading.finditer(user))
    bounds = pairwise([*(match.start() for match in found), len(user)])
    for match, (start, end) in zip(found, bounds, strict=True):
        if question := _QUESTION.search(user[start:end]):
            yield match, question.group(1).strip()


def _patched(user: str, key: str = "edits") -> list[Edit]:
    """Return the lists under a key in all fenced JSON blocks; a skill's own blocks have none."""
    found: list[Edit] = []
    for block in _BLOCK.findall(user):
        try:
            data = json.loads(block)
        except ValueError:
            continue
        if isinstance(data, dict) and isinstance(data.get(key), list):
            found += [entry for entry in data[key] if isinstance(entry, dict)]
    return found


def _edit(op: str, target: str, content: str, support: int) -> Edit:
    return {
        "op": op,
        "target": target,
        "content": content,
        "support": support,
        "evidence": f"seen in {support} of the trajectories",
    }


def _named(edit: Edit) -> list[str]:
    tasks = edit.get("tasks")
    return [str(task) for task in tasks] if isinstance(tasks, list) else []


def _support(edit: Edit) -> int:
    support = edit.get("support")
    return support if isinstance(support, int) else 0


def _first_int(pattern: re.Pattern[str], text: str, default: int) -> int:
    found = pattern.search(text)
    return int(found.group(1)) if found else default
