"""An agent program: how it is run, where it works, and what its output means."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from skillopt_cli.backends.agents.model_api import ModelApi
from skillopt_cli.backends.agents.skill_files import SkillCopy, place_skill
from skillopt_cli.core.companion_files import SKILL_FILE
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.reply_text import read_text
from skillopt_cli.core.task import CUT_SHORT, NO_ANSWER, Brief, Ending, Message
from skillopt_cli.permissions import make_folder
from skillopt_cli.ports import Finished

AGENT_OFFERS = frozenset({"images", "workspace"})
"""What an agent with tools offers: it can open the files in its workspace."""
TASK = "# Task"
"""The heading over the task itself in every prompt."""
LOOK = "What you were taught for tasks of this kind is in the file `{}`. Read it first."
"""The opening of a prompt when the skill is a file."""
_BESIDE = "The files that belong to this skill are in your working folder."
PROJECTS = (".git", ".agents", ".claude", ".codex", ".cursor", ".github", "AGENTS.md", "CLAUDE.md")
"""Files and folders by which some program recognizes a project."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folders of a run of a program, and what it needs to know.

    Attributes:
        folder: contains the three others.
        work: where the agent works, with the skill and the task's files.
        own: the program's home and configuration, created for this run.
        temporary: for temporary files.
        files: the task's files, relative to `work`.
        url: root of the relay, token: what authorizes there; empty without a relay.
        isolated: whether the executor isolates the program.
        asked: whether this is a chat request, for which no tool is needed, and not an attempt.
        schema: JSON schema of the wanted answer, for a program that supports one; None for text.
    """

    folder: Path
    skill: SkillCopy | None = None
    files: tuple[str, ...] = ()
    url: str = ""
    token: str = ""
    isolated: bool = False
    asked: bool = False
    schema: Mapping[str, Any] | None = None

    def make_folders(self) -> None:
        """Create the three folders, empty.

        If a folder above them is a project, `folder` is marked as the root of one, since programs
        search for notes and skills from their working folder up to the nearest root.
        """
        for folder in (self.work, self.own, self.temporary):
            make_folder(folder, exist_ok=False)
        above = self.folder.parents
        if not self.isolated and any((one / name).exists() for one in above for name in PROJECTS):
            make_folder(self.folder / ".git")

    @property
    def work(self) -> Path:
        """Where the agent works."""
        return self.folder / "work"

    @property
    def own(self) -> Path:
        """Home and configuration."""
        return self.folder / "own"

    @property
    def temporary(self) -> Path:
        """For temporary files."""
        return self.folder / "tmp"


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The result of a program, parsed from its output.

    Attributes:
        ending: as far as the output shows.
        error: why it is not `answered`; one line.
        service_failed: whether it is broken because its model's service failed.
    """

    answer: str
    messages: tuple[Message, ...] = ()
    ending: Ending = "answered"
    error: str = ""
    service_failed: bool = False


@dataclass(frozen=True, kw_only=True)
class Program(ABC):
    """A program that works as an agent.

    Attributes:
        name: of its backend.
        model: "" leaves the choice to the program.
        limit: seconds per run.
        max_turns: requests that the relay answers; 0 if the program counts its turns itself.
        api: the API it uses for its model; None if it brings its own model.
        skills: the folder in its workspace where it looks for skills.
        chat_offers: abilities when it answers chat requests.
    """

    name: str
    version: str
    model: str
    limit: float
    max_turns: int = 0

    api: ClassVar[ModelApi | None] = None
    skills: ClassVar[str] = ".agents/skills"
    chat_offers: ClassVar[frozenset[str]] = frozenset()

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, object]:
        """The settings that can alter its behaviour."""

    @property
    def fingerprint(self) -> str:
        """The program, its version and its settings as one line."""
        facts = {"agent": self.name, "version": self.version, **self.settings}
        return json.dumps(facts, sort_keys=True)

    @property
    def offers(self) -> frozenset[str]:
        """Its abilities as an agent."""
        return AGENT_OFFERS

    def prompt(self, brief: Brief, workspace: Workspace) -> str:
        """Return its standard input; by default with the path of the skill's file."""
        skill = workspace.skill
        opening = LOOK.format(f"{self.skills}/{skill.name}/{SKILL_FILE}") if skill else ""
        return task_text(brief, workspace, opening)

    def prepare(self, workspace: Workspace) -> None:
        """Write skill and configuration into the folders, which exist."""
        if workspace.skill is not None:
            place_skill(workspace.skill, workspace.work / self.skills)

    @abstractmethod
    def argv(self, workspace: Workspace) -> list[str]:
        """The program and its arguments, without any text of task or skill."""

    @abstractmethod
    def environment(self, workspace: Workspace) -> Mapping[str, str]:
        """Environment variables beyond those that every program gets."""

    @abstractmethod
    def parse(self, finished: Finished) -> ProgramResult:
        """Parse the output of a program that ended by itself."""


def task_text(brief: Brief, workspace: Workspace, opening: str) -> str:
    """Return a prompt: opening line on the skill, role, answer format, files, then the task."""
    files = ""
    if workspace.files:
        listed = "\n".join(f"- {name}" for name in workspace.files)
        files = f"These files, in your working folder, belong to the task:\n{listed}"
    parts = (opening, brief.role, brief.answer_format, files, f"{TASK}\n\n{brief.prompt}")
    return "\n\n".join(part for part in parts if part)


def skill_text(workspace: Workspace) -> str:
    """Return the opening of a prompt that contains the skill itself; "" without a skill."""
    skill = workspace.skill
    if skill is None:
        return ""
    beside = f"\n\n{_BESIDE}" if skill.folder is not None and skill.folder.files else ""
    return f"# Skill\n\n{skill.body.strip()}{beside}"


def json_lines(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects among the lines of a text."""
    for line in text.split("\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def tool_messages(call: ToolCall, result: str, *, failed: bool) -> Iterator[Message]:
    """Yield a tool call and its result as two messages."""
    yield Message("assistant", "", tool_calls=(call,))
    yield Message("tool", result, call_id=call.id, failed=failed)


def result_of(
    finished: Finished, program: str, messages: tuple[Message, ...], answer: str, failure: str = ""
) -> ProgramResult:
    """Return the answer as it is read, or a broken result if the program failed or gave none.

    Args:
        program: its name, for people.
        failure: what its output names as the cause of a failure; "" for none.
    """
    if failure or finished.returncode:
        why = failure or last_line(finished)
        return broken(f"{program} ended with code {finished.returncode}: {why}", messages)
    if not answer.strip():
        return broken(f"{program} ended without an answer", messages)
    read = read_text(answer)
    if read.text.strip():
        return ProgramResult(read.text, messages)
    return ProgramResult("", messages, "gave_up", CUT_SHORT if read.unfinished else NO_ANSWER)


def broken(error: str, messages: tuple[Message, ...] = ()) -> ProgramResult:
    """Return the result of an attempt that failed through no fault of the agent."""
    return ProgramResult("", messages, "broken", " ".join(error.split()))


def last_line(finished: Finished) -> str:
    """Return the last line on standard error, or else on standard output."""
    lines = (finished.stderr.strip() or finished.stdout.strip()).splitlines()
    return lines[-1][:300] if lines else "it said nothing"
