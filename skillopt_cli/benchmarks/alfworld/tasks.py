"""Games: households of a task file, or published game files, by reference."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import Task, TaskFile
from skillopt_cli.safe_files import read_regular

VARIABLE = "ALFWORLD_DATA"
USUAL = "~/.cache/alfworld"
FOLDER = f"${VARIABLE}"
KINDS = (
    "pick_and_place",
    "pick_two_obj_and_place",
    "look_at_obj_in_light",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_clean_then_place_in_recep",
)
DOWNLOAD = "get the games with `alfworld-download`, and name their folder in ALFWORLD_DATA"
_TASK = re.compile(r"Your task is to: (.*?)\.?\s*\"")


class Games:
    """Where the games of a benchmark's tasks are, and what is in them.

    A task's data hold the text and the digest of a game file's content; its place, which reveals
    nothing of the task, is kept here.

    Args:
        folder: where relative names of game files start; may hold variables and `~`.

    Attributes:
        folder: the same, as it is on this machine.
    """

    def __init__(self, folder: str) -> None:
        self._variables = {VARIABLE: USUAL} | dict(read_environment())
        self.folder = self._expanded(folder)
        self._paths: dict[str, Path] = {}

    def task(self, record: Record) -> Task:
        """A record as a task.

        Raises:
            DataError: it is unusable, or its game file is.
        """
        if record.data.get("gamefile") is None:
            data = _household(record)
            kind = data["goal"]["type"]
        else:
            data = self._filed(record)
            kind = data["gamefile"]
        return Task(record.identifier(), sys.intern(kind_of(kind)), data)

    def files(self, task: Task) -> Sequence[TaskFile]:
        """The game file of a task, if it has one."""
        digest = task.data.get("digest")
        return [TaskFile(str(self._paths[digest]), digest, digest)] if digest else []

    def read_at(self, files: Sequence[TaskFile]) -> None:
        """From now on, read these game files at their paths."""
        self._paths |= {file.digest: Path(file.path) for file in files}

    async def content(self, task: Task) -> Mapping[str, Any]:
        """What the engine is sent to open the task's game."""
        if "gamefile" in task.data:
            return {"game": await asyncio.to_thread(self._read, task)}
        return {"household": {key: task.data[key] for key in ("task", "goal", "household")}}

    async def walkthrough(self, task: Task) -> Sequence[str]:
        """Actions that win.

        Raises:
            DataError: the game holds none.
        """
        source = task.data
        if "gamefile" in task.data:
            source = await asyncio.to_thread(self._read, task)
        actions: Sequence[str] = source.get("walkthrough") or ()
        if not actions:
            raise DataError(f"the game of `{task.id}` holds no walkthrough", "leave it out")
        return actions

    def path(self, name: str) -> Path:
        """Where a game file is that a record names, by a relative or absolute path."""
        return self.folder / self._expanded(name)

    def _expanded(self, text: str) -> Path:
        return Path(Template(text).safe_substitute(self._variables)).expanduser()

    def _filed(self, record: Record) -> dict[str, Any]:
        name = record.text("gamefile")
        path = self.path(name)
        if not path.is_file():
            raise record.fault(f"the game file {path} is not there", DOWNLOAD)
        content = read_regular(path)
        digest = hashlib.sha256(content).hexdigest()
        self._paths[digest] = path
        return {"task": _goal(record, content, path), "gamefile": name, "digest": digest}

    def _read(self, task: Task) -> dict[str, Any]:
        game: dict[str, Any] = json.loads(read_regular(self._paths[task.data["digest"]]))
        return game


def kind_of(name: str) -> str:
    """The task type whose name occurs in a text such as a game file's path; else "other"."""
    return next((kind for kind in KINDS if kind in name), "other")


def _household(record: Record) -> dict[str, Any]:
    goal, household = record.data.get("goal"), record.data.get("household")
    if not isinstance(goal, dict) or not isinstance(goal.get("type"), str):
        raise record.fault(
            "holds neither a `gamefile` nor a `goal` with its `type`",
            "see the bundled sample: `skillopt data sample alfworld`",
        )
    if not isinstance(household, dict) or not household:
        raise record.fault("`household` is no object with the places of things")
    return {
        "task": record.text("task"),
        "goal": goal,
        "household": household,
        "walkthrough": record.texts("walkthrough"),
    }


def _goal(record: Record, content: bytes, path: Path) -> str:
    try:
        game = json.loads(content)
        problem = game["pddl_problem"]
        found = _TASK.search(game["grammar"])
    except (ValueError, KeyError, TypeError):
        problem, found = None, None
    if not problem or not found:
        raise record.fault(f"{path} is no game file", DOWNLOAD)
    return found[1]
