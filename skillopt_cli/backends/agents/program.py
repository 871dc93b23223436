"""What an agent's program must be able to say about itself; one value per program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from skillopt_cli.backends.agents.skill_files import SkillFile
from skillopt_cli.backends.agents.wire import AgentForm
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.task import Brief, Ending, Message
from skillopt_cli.ports import Finished

TASK = "# Task"
"""The heading over the task itself in every prompt."""
LOOK = "What you were taught for tasks of this kind is in the file `{}`. Read it first."
"""The opening of a prompt where the skill is a file."""
SKILLS = ".agents/skills"
"""Where several programs look for skills in their workspace."""
_BESIDE = "The files that belong to this skill are in your working folder."
PROJECTS = (".git", ".agents", ".claude", ".codex", ".cursor", ".github", "AGENTS.md", "CLAUDE.md")
"""What makes a folder a project in the eyes of some program."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of an attempt, and what the program is told.

    Attributes:
        folder: holds the three others.
        work: where the agent works, with the skill and the task's files.
        own: the program's home and configuration, made fresh.
        temporary: for temporary files.
        files: the task's files, relative to `work`.
        url: root of the relay, token: what to bring there; empty for a program without.
        isolated: whether the executor keeps the program from everything else.
        asked: whether this is no attempt at a task but a question, for which no tool is needed.
        schema: JSON schema of the wanted answer, for a program that can be told; None for any text.
    """

    folder: Path
    skill: SkillFile | None = None
    files: tuple[str, ...] = ()
    url: str = ""
    token: str = ""
    isolated: bool = False
    asked: bool = False
    schema: Mapping[str, Any] | None = None

    def make_folders(self) -> None:
        """The three folders, empty.

        Where a folder above them is somebody's project, a root of a project is put around them:
        programs look for notes and skills from where they work up to the next one.
        """
        for folder in (self.work, self.own, self.temporary):
            folder.mkdir()
        above = self.folder.parents
        if not self.isolated and any((one / name).exists() for one in above for name in PROJECTS):
            (self.folder / ".git").mkdir()

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
class Told:
    """What a program told of its attempt.

    Attributes:
        ending: as far as the program knows.
        error: why it is not `answered`; one line.
    """

    answer: str
    messages: tuple[Message, ...] = ()
    ending: Ending = "answered"
    error: str = ""


class Program(Protocol):
    """A program that works as an agent.

    Attributes:
        name: as that of its backend.
        fingerprint: all about the program and its settings that can alter what it does.
        form: the interface it speaks to its model; None where that is its own affair.
        limit: seconds for an attempt.
        max_turns: requests the relay answers; 0 where the program itself counts its turns.
    """

    @property
    def name(self) -> str:
        """See above."""
        ...

    @property
    def fingerprint(self) -> str:
        """See above."""
        ...

    @property
    def form(self) -> AgentForm | None:
        """See above."""
        ...

    @property
    def limit(self) -> float:
        """See above."""
        ...

    @property
    def max_turns(self) -> int:
        """See above."""
        ...

    def prompt(self, brief: Brief, layout: Layout) -> str:
        """What is written to the program's standard input."""
        ...

    def lay_out(self, layout: Layout) -> None:
        """Write skill and configuration into the folders, which exist."""
        ...

    def argv(self, layout: Layout) -> list[str]:
        """The program and its arguments: nothing of task or skill."""
        ...

    def environment(self, layout: Layout) -> Mapping[str, str]:
        """What it sees beyond what every program sees."""
        ...

    def told(self, finished: Finished) -> Told:
        """What its output says; it ended by itself."""
        ...


def task_text(brief: Brief, layout: Layout, opening: str) -> str:
    """A prompt: an opening line on the skill, who the agent is, how to answer, then the task."""
    files = ""
    if layout.files:
        listed = "\n".join(f"- {name}" for name in layout.files)
        files = f"These files, in your working folder, belong to the task:\n{listed}"
    parts = (opening, brief.role, brief.answer_format, files, f"{TASK}\n\n{brief.prompt}")
    return "\n\n".join(part for part in parts if part)


def look(layout: Layout) -> str:
    """The opening of a prompt where the skill lies in `SKILLS`; "" without a skill."""
    return LOOK.format(f"{SKILLS}/{layout.skill.name}/SKILL.md") if layout.skill else ""


def taught(layout: Layout) -> str:
    """The opening of a prompt that holds the skill itself; "" without a skill."""
    skill = layout.skill
    if skill is None:
        return ""
    beside = f"\n\n{_BESIDE}" if skill.folder is not None and skill.folder.files else ""
    return f"# Skill\n\n{skill.body.strip()}{beside}"


def step(call: ToolCall, result: str, *, failed: bool) -> Iterator[Message]:
    """A tool that was used, and what came of it, as two messages."""
    yield Message("assistant", "", tool_calls=(call,))
    yield Message("tool", result, call_id=call.id, failed=failed)


def broken(error: str, *, messages: tuple[Message, ...] = (), answer: str = "") -> Told:
    """What is told of an attempt that came to nothing through no fault of the agent's."""
    return Told(answer, messages, "broken", " ".join(error.split()))


def last_words(finished: Finished) -> str:
    """The end of what a program said on standard error, or else on standard output; one line."""
    lines = (finished.stderr.strip() or finished.stdout.strip()).splitlines()
    return lines[-1][:300] if lines else "it said nothing"
