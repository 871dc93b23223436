"""What an optimizer model reads in a request: the skill, the tasks, what was rejected, patches."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from skillopt_cli.core.task import ChatRequest

_SKILL = re.compile(r"^## Current skill\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_TRAJECTORY = re.compile(r"^## Trajectory \d+: task `(.*)` \(", re.MULTILINE)
_PAIR = re.compile(r"^## Pair \d+: task `.*, (\w+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^\[(\d+)\].*?\(support (\d+)\)", re.MULTILINE)
_BUDGET = re.compile(r"at most (\d+) edits")
_PREVIOUS = re.compile(r"^## Previous guidance\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_REGION = re.compile(r"<!--\s*(\w+)_START\s*-->.*?<!--\s*\1_END\s*-->", re.DOTALL)

Edit = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shown:
    """A task as a request shows it: its id, and the text of its section."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class OptimizerRequest:
    """One request of an optimizer's stage."""

    stage: str
    system: str
    user: str
    names_tasks: bool = False

    @classmethod
    def of(cls, request: ChatRequest) -> OptimizerRequest:
        """The request of a chat; edits name their tasks where the schema has a key for them."""
        system = "\n".join(m.content for m in request.messages if m.role == "system")
        user = "\n".join(m.content for m in request.messages if m.role != "system")
        return cls(request.schema_name, system, user, _names_tasks(request.schema or {}))

    @property
    def skill(self) -> str:
        """The current skill, whole."""
        found = _SKILL.search(self.user)
        return found[1].rstrip() if found else ""

    @property
    def body(self) -> str:
        """The part of the skill that edits may change."""
        return _REGION.sub("", self.skill)

    @property
    def budget(self) -> int | None:
        """The most edits that an answer may hold."""
        found = _BUDGET.search(self.user) or _BUDGET.search(self.system)
        return int(found[1]) if found else None

    @property
    def tasks(self) -> list[Shown]:
        """The tasks of the trajectories, in order."""
        return [Shown(found[1], text) for found, text in _below(_TRAJECTORY, self.user)]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Category and text of each pair of an epoch's end, in order."""
        return [(found[1], text) for found, text in _below(_PAIR, self.user)]

    @property
    def edits(self) -> list[Edit]:
        """The edits in all JSON blocks."""
        found: list[Edit] = []
        for block in _BLOCK.findall(self.user):
            try:
                document = json.loads(block)
            except ValueError:
                continue
            found += document.get("edits", ()) if isinstance(document, dict) else ()
        return found

    @property
    def listed(self) -> list[tuple[int, int]]:
        """Number and support of each edit of a numbered list."""
        return [(int(number), int(support)) for number, support in _ENTRY.findall(self.user)]

    @property
    def previous(self) -> list[str]:
        """The lines of the previous guidance."""
        found = _PREVIOUS.search(self.user)
        return [line for line in found[1].splitlines() if line.startswith("- ")] if found else []


def _names_tasks(schema: Mapping[str, Any]) -> bool:
    kinds: Sequence[Mapping[str, Any]] = [schema, *schema.get("$defs", {}).values()]
    fields = [kind.get("properties", {}) for kind in kinds]
    return any("tasks" in names and "content" in names for names in fields)


def _below(heading: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each match of a heading, with the text up to the next one."""
    found = list(heading.finditer(text))
    bounds = pairwise([*(match.start() for match in found), len(text)])
    for match, (start, end) in zip(found, bounds, strict=True):
        yield match, text[start:end]
