"""The optimizer model of a world: answers every stage's request from the request alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulation.requests import Edit, OptimizerRequest
from simulation.world import USELESS, Item, World

_MISQUOTED = 0.05
_INSERTED = 0.3
_GUIDANCE = 6
"""Lines that guidance has at most."""
_WORDINGS = ("", ", in every case", ", without exception")
"""What a rule ends in: when one wording was rejected, the next is tried."""
FAILING = ("regressed", "persistent_fail")


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is proposed for a kind: a line to add, or one to take out."""

    line: str
    removes: bool = False


class Teacher:
    """Proposes a lesson for a kind, given what it reads.

    Attributes:
        seed: number that the choices depend on, besides the kind.
        skill, body: the skill, and the part of it that may be changed.
        rejected: edits that it does not propose again.
    """

    def __init__(
        self, world: World, seed: float, skill: str, body: str, rejected: Sequence[Edit] = ()
    ) -> None:
        self._world = world
        self._seed = seed
        self._skill = skill
        self._body = body
        self._added = {edit["content"].strip() for edit in rejected if edit.get("content")}
        self._deleted = {edit["target"].strip() for edit in rejected if edit["op"] == "delete"}

    def chance(self, *causes: object) -> float:
        """A number in [0, 1) for a choice within this request."""
        return self._world.draw("optimizer", self._seed, *causes)

    def lesson(self, kind: str, failing: Sequence[Item]) -> Lesson | None:
        """The lesson for a kind that fails; None where nothing new is found."""
        settings = self._world.settings
        if self.chance(kind, "memorised") < settings.memorised:
            return self._first(f"- {self._world.memory(item)}.\n" for item in failing)
        draw = self.chance(kind, "choice")
        if draw < settings.right:
            return self._removal(kind) or self._first(self._right(kind))
        if draw < settings.right + settings.harmful:
            lines = self._world.harmful(kind)
            start = int(self.chance(kind, "harmful") * 2)
            return self._first(f"- {lines[(start + n) % 2]}.\n" for n in range(2))
        start = int(self.chance(kind, "useless") * len(USELESS))
        return self._first((*USELESS[start:], *USELESS[:start]))

    def _right(self, kind: str) -> Iterator[str]:
        """The missing rules; where they were rejected, together and in other words."""
        lacking = [rule for rule in self._world.needed[kind] if rule not in self._skill]
        for ending in _WORDINGS:
            lines = [f"- {rule}{ending}.\n" for rule in lacking]
            yield from lines
            if len(lines) > 1:
                yield "".join(lines)

    def _removal(self, kind: str) -> Lesson | None:
        for sentence in self._world.harmful(kind):
            for line in self._body.splitlines(keepends=True):
                if sentence in line and line.strip() not in self._deleted:
                    return Lesson(line, removes=True)
        return None

    def _first(self, lines: Iterator[str] | Sequence[str]) -> Lesson | None:
        fresh = (line for line in lines if line.strip() not in self._skill)
        return next((Lesson(line) for line in fresh if not self.known(line)), None)

    def known(self, line: str) -> bool:
        """Whether a line was added by a rejected edit."""
        return line.strip() in self._added

    def edit(self, lesson: Lesson, support: int) -> Edit:
        """The lesson as an edit."""
        op, target, content = "append", "", lesson.line
        lines = [line for line in self._body.splitlines() if line.startswith("- ")]
        if lesson.removes:
            op, target, content = "delete", lesson.line, ""
        elif lines and self.chance(lesson.line, "op") < _INSERTED:
            op, target = "insert_after", lines[int(self.chance(lesson.line, "at") * len(lines))]
            content = lesson.line.rstrip("\n")
            if self.chance(lesson.line, "misquoted") < _MISQUOTED / _INSERTED:
                target = f"{target} (as above)"
        evidence = f"seen in {support} of the trajectories"
        named = {"op": op, "target": target, "content": content}
        return {**named, "support": support, "evidence": evidence}


def answer(world: World, asked: OptimizerRequest) -> Mapping[str, Any]:
    """The answer to a request.

    Raises:
        KeyError: no stage has the request's name.
    """
    return _STAGES[asked.stage](world, asked)


def rewrite(world: World, prompt: str, skill: str, failing: Sequence[Item]) -> str:
    """A whole new skill, with a lesson for each kind that fails."""
    text = f"{skill.rstrip()}\n"
    teacher = Teacher(world, world.draw(prompt), text, text)
    lessons = [teacher.lesson(kind, items) for kind, items in by_kind(failing)]
    for lesson in filter(None, lessons):
        text = text.replace(lesson.line, "", 1) if lesson.removes else text + lesson.line
    return text


def by_kind(items: Sequence[Item]) -> list[tuple[str, list[Item]]]:
    """The items of each kind, the most frequent kind first; equals as they come."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(item.kind, []).append(item)
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def _teacher(world: World, asked: OptimizerRequest) -> Teacher:
    seed = world.draw(asked.stage, asked.user)
    return Teacher(world, seed, asked.skill, asked.body, asked.edits)


def _analyse_failures(world: World, asked: OptimizerRequest) -> Mapping[str, Any]:
    teacher = _teacher(world, asked)
    read = [(shown.id, world.read(shown.text)) for shown in asked.tasks]
    shown = [(name, item) for name, item in read if item]
    edits = []
    groups = by_kind([item for _, item in shown])
    for kind, items in groups:
        lesson = teacher.lesson(kind, items)
        if lesson is None:
            continue
        edit = teacher.edit(lesson, len(items))
        if asked.names_tasks:
            edit["tasks"] = _claims(world, teacher, kind, shown)
        edits.append(edit)
    summary = [
        {"failure_type": f"register {kind}", "count": len(items), "description": "wrong value"}
        for kind, items in groups
    ]
    reasoning = f"{len(shown)} failures of {len(groups)} registers were compared."
    return {
        "reasoning": reasoning,
        "failure_summary": summary,
        "edits": edits[: asked.budget],
    }


def _claims(
    world: World, teacher: Teacher, kind: str, shown: Sequence[tuple[str, Item]]
) -> list[str]:
    """The ids of a kind's tasks, some of them replaced with ids of other kinds."""
    others = [name for name, item in shown if item.kind != kind]
    claims = []
    for name in (name for name, item in shown if item.kind == kind):
        wrong = teacher.chance(name, "claim") < world.settings.wrong_claims
        if wrong and others:
            claims.append(others.pop(int(teacher.chance(name, "other") * len(others))))
        else:
            claims.append(name)
    return claims


def _analyse_successes(world: World, asked: OptimizerRequest) -> Mapping[str, Any]:
    """A useless line, or one that the skill has already, claimed for every task."""
    teacher = _teacher(world, asked)
    tasks = asked.tasks
    held = [line for line in asked.body.splitlines() if line.startswith("- ")]
    start = int(teacher.chance("useless") * len(USELESS))
    line = USELESS[start]
    if held and teacher.chance("duplicate") < 0.5:
        line = f"{held[int(teacher.chance('held') * len(held))]}\n"
    edit = teacher.edit(Lesson(line), len(tasks))
    if asked.names_tasks:
        edit["tasks"] = [task.id for task in tasks]
    edits = [] if teacher.known(line) else [edit]
    return {"reasoning": "", "success_patterns": ["careful reading"], "edits": edits}


def _merge(world: World, asked: OptimizerRequest) -> Mapping[str, Any]:
    """The edits of all patches; equal ones become one, with the support and tasks of all."""
    merged: dict[tuple[str, ...], Edit] = {}
    for edit in asked.edits:
        change = tuple(str(edit.get(key, "")) for key in ("file", "op", "target", "content"))
        if change not in merged:
            merged[change] = dict(edit)
            continue
        merged[change]["support"] += edit.get("support", 0)
        if "tasks" in edit:
            tasks = [*merged[change].get("tasks", ()), *edit["tasks"]]
            merged[change]["tasks"] = list(dict.fromkeys(tasks))
    return {"reasoning": "", "edits": list(merged.values())[: asked.budget]}


def _rank(world: World, asked: OptimizerRequest) -> Mapping[str, Any]:
    """The best supported edits; equals keep their order."""
    order = sorted(asked.listed, key=lambda entry: (-entry[1], entry[0]))
    return {"reasoning": "", "selected_indices": [number for number, _ in order[: asked.budget]]}


def _guide(world: World, asked: OptimizerRequest) -> Mapping[str, Any]:
    """Lessons for the kinds that fail at an epoch's end, after the guidance that still holds."""
    teacher = _teacher(world, asked)
    read = [(category, world.read(text)) for category, text in asked.pairs]
    failing = [item for category in FAILING for c, item in read if item and c == category]
    groups = dict(by_kind(failing))
    harm = [line for kind in groups for line in world.harmful(kind)]
    kept = [line for line in asked.previous if not any(sentence in line for sentence in harm)]
    lessons = (teacher.lesson(kind, items) for kind, items in groups.items())
    lines = [x.line.strip() for x in lessons if x and not x.removes]
    points = list(dict.fromkeys([*kept, *lines[:_GUIDANCE]]))
    return {"reasoning": "", "slow_update_content": "\n".join(points) or "- Go on as before."}


def _remember(world: World, asked: OptimizerRequest) -> Mapping[str, Any]:
    notes = "One short rule for one register is accepted more often than a general remark."
    return {"reasoning": "", "meta_skill_content": notes}


_STAGES: Mapping[str, Callable[[World, OptimizerRequest], Mapping[str, Any]]] = {
    "analyst_error": _analyse_failures,
    "analyst_success": _analyse_successes,
    "merge_failure": _merge,
    "merge_success": _merge,
    "merge_final": _merge,
    "ranking": _rank,
    "slow_update": _guide,
    "meta_skill": _remember,
}
