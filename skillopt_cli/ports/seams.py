"""The seams. Nothing else of the program may be replaced from outside.

Abilities are declared as data (`needs`, `offers`, `roles`) and checked when a run is composed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from skillopt_cli.core.episode import Episode
from skillopt_cli.core.events import RunEvent, Stamped
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import Attempt, Brief, ChatReply, ChatRequest, Message, Split, Task

Emit = Callable[[RunEvent], None]


class Benchmark(Protocol):
    """Tasks, and how an attempt at one is briefed and scored.

    Attributes:
        name: as in the configuration and in `outputs/<name>/`.
        version: changes whenever a brief or a score could change for the same task.
        source: where the tasks came from, one line for the user.
        seed_skill: the shipped seed skill's text.
        needs: abilities a target must offer, such as "images"; of "tools|workspace" one will do.
    """

    name: str
    version: str
    source: str
    seed_skill: str
    needs: frozenset[str]

    def tasks(self, split: Split) -> Sequence[Task]:
        """The tasks of a split, in file order; ids are unique over all splits."""
        ...

    def brief(self, task: Task) -> Brief:
        """What a target may know of a task: never the reference."""
        ...

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """Score an attempt that is not broken. A wrong answer is a low score, never an error."""
        ...


@runtime_checkable
class Interactive(Benchmark, Protocol):
    """A benchmark whose attempts take more than one answer, or leave more than an answer behind."""

    def episode(self, task: Task, executor: Executor) -> AbstractAsyncContextManager[Episode]:
        """The surroundings of one attempt, closed when it has ended.

        Files and programs are its executor's; nothing is shared with another attempt.
        """
        ...

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        """The attempt that a perfect target would make: the reference, played for real.

        Its score shows that the task can be won: `skillopt data check`.
        """
        ...


@runtime_checkable
class Judged(Benchmark, Protocol):
    """A benchmark some of whose scores are a model's judgement. `score` is not asked.

    Both functions are pure: the calls to the judge are the run's.
    """

    def ask_judge(self, task: Task, attempt: Attempt) -> tuple[Message, ...] | Score:
        """What to ask the judge of an attempt that is not broken; a score where that is clear."""
        ...

    def hear_judge(self, task: Task, attempt: Attempt, reply: str) -> Score | None:
        """The score that a judge's reply means; None when it cannot be told."""
        ...


class ChatBackend(Protocol):
    """One request to a chat model, one reply.

    Attributes:
        name: the model, for people.
        fingerprint: everything about model and parameters that can alter a reply.
        offers: abilities, such as "json_schema".
    """

    name: str
    fingerprint: str
    offers: frozenset[str]

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request.

        Raises:
            TransientError: another try may succeed.
            RequestRefused: this request cannot succeed.
            FatalBackendError: no request can.
        """
        ...


class AgentBackend(Protocol):
    """The frozen agent being taught: it attempts a brief while holding a skill."""

    name: str
    fingerprint: str
    offers: frozenset[str]

    async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
        """Attempt a brief. A failure of ours is a `broken` attempt; a fatal one is raised."""
        ...


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that ended, or was ended. Output is bounded.

    Attributes:
        timed_out: it reached its time limit and was killed.
        stopped: why the executor ended it before that, such as "the workspace grew beyond 1000 MB";
            empty when it did not. Such an attempt is broken.
    """

    returncode: int
    stdout: str
    stderr: str
    timed_out: bool
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class Reach:
    """The one service a program may connect to: `127.0.0.1:port`.

    Attributes:
        socket: where the same service listens as a Unix socket, for a program without a network.
    """

    port: int
    socket: Path


class Executor(Protocol):
    """Where an attempt may touch files and start processes.

    Attributes:
        isolates: whether programs are kept from everything but the system, their workspace and
            `reach`. Then a sandbox that a program brings itself is not needed, and may fail.
    """

    isolates: bool

    def workspace(self, name: str) -> AbstractAsyncContextManager[Path]:
        """A fresh, empty folder for one attempt, removed afterwards.

        Its owner lays it out: where a program needs files of its own beside those it works on, the
        one goes into one subfolder and the other into another.
        """
        ...

    async def run(  # noqa: PLR0913 - like a call of a program itself, with nothing to group
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        stdin: str = "",
        limit: float,
        environment: Mapping[str, str] | None = None,
        reach: Reach | None = None,
        readable: Collection[Path] = (),
    ) -> Finished:
        """Run a program to its end; nothing it started is left afterwards.

        Args:
            argv: the program and its arguments, from configuration only: files named here by an
                absolute path may be read. What a task or skill says goes to `stdin` or into files.
            cwd: a workspace, or a folder in one; the program may write in the whole workspace.
            limit: seconds until it and all its children are killed.
            environment: what it sees beyond the few harmless variables that every program sees.
                HOME and TMPDIR are fresh folders of this very run unless named here.
            reach: what it may connect to where the executor keeps the network from it.
            readable: files and folders it may read beyond the system's and its own installation,
                such as the packages an interpreter finds elsewhere. What is the run's own stays
                hidden although it lies in one of them. As `argv`, from configuration only.

        Raises:
            BackendError: it could not be started.
        """
        ...


class Store(Protocol):
    """A run's memory: one checkpoint, one log, one journal, and copies for people."""

    def load_state(self) -> TrainState | None:
        """The last checkpoint, or None for a run without one."""
        ...

    def save_state(self, state: TrainState) -> None:
        """Replace the checkpoint atomically; the one before is kept beside it."""
        ...

    def append(self, fact: Stamped) -> None:
        """Add a fact to the log."""
        ...

    def facts(self) -> Iterator[Stamped]:
        """The log from its start; a torn last line is left out."""
        ...

    def recall(self, key: str, task: Task) -> Trajectory | None:
        """A rollout from the journal, or None. A hit equals the original field for field."""
        ...

    def remember(self, key: str, trajectory: Trajectory) -> None:
        """Journal a scored rollout. Broken ones are never remembered."""
        ...

    def recall_call(self, key: str) -> ChatReply | None:
        """A model call's reply from the journal, or None."""
        ...

    def remember_call(self, key: str, reply: ChatReply) -> None:
        """Journal a model call's reply."""
        ...

    def keep(self, path: str, text: str) -> None:
        """Write a copy for people at `path`, relative to the run folder."""
        ...

    def keep_folder(self, path: str, skill: SkillDocument) -> None:
        """Lay a skill folder out at `path`, in the place of what is there."""
        ...
