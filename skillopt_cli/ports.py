"""Floor 1: the seams. Nothing else of the program may be replaced from outside.

Abilities are declared as data (`needs`, `offers`, `roles`) and checked when a run is composed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic import SecretStr

from skillopt_cli.core.events import Role, RunEvent, Stamped
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import Attempt, Brief, ChatReply, ChatRequest, Split, Task

Emit = Callable[[RunEvent], None]


class Benchmark(Protocol):
    """Tasks, and how an attempt at one is briefed and scored.

    Attributes:
        name: as in the configuration and in `outputs/<name>/`.
        version: changes whenever a brief or a score could change for the same task.
        source: where the tasks came from, one line for the user.
        seed_skill: the shipped seed skill's text.
        needs: abilities a target must offer, such as "images".
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


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """What a backend is told about a role: resolved, with the key itself (never logged).

    Attributes:
        environment: provider variables, the real environment over `.env`.
        options: the backend's own section of the configuration, `model.<backend>.*`, and of the
            settings that only some backends know (`Endpoint`) those it says it `honours`.
        timeout: seconds per call.
        workers: calls in flight the run will ask for.
        refused: optional parameters this model was found not to take, so far.
        on_refused: told of each one found out from now on.
    """

    role: Role
    model: str
    base_url: str = ""
    api_key: SecretStr | None = None
    temperature: float | None = None
    reasoning_effort: str = ""
    max_completion_tokens: int = 16384
    timeout: float = 120.0
    workers: int = 8
    seed: int = 42
    options: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    on_refused: Callable[[str], None] = lambda parameter: None


@dataclass(frozen=True, slots=True)
class Need:
    """Settings of a role one of which must be there before any call.

    Attributes:
        settings: fields of `RoleConfig`; any one of them will do.
        lack: the error when none is set; `{role}` stands for the role, `{ROLE}` in capitals.
        hint: what to do about it, with the same two.
        when: needed only while each of these settings has one of these values; "" is unset.
    """

    settings: tuple[str, ...]
    lack: str
    hint: str
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def met(self, settings: Mapping[str, object]) -> bool:
        """Whether a role with these effective settings has it, or does not need it."""
        for name, values in self.when.items():
            if str(settings.get(name) or "") not in values:
                return True
        return any(settings.get(name) not in (None, "") for name in self.settings)


MODEL_NAMED = Need(("name",), "no model is named for the {role}", "add --{role}-model NAME")
"""What every backend needs that has no model of its own."""


@dataclass(frozen=True, slots=True)
class BackendSpec:
    """What an entry point of the group `skillopt.backends` holds.

    Attributes:
        open: makes the chat backend of a role; it may also be an async context manager. None for an
            optimizer that needs no model.
        agent: makes an agent of that chat backend and the role's settings; None for the ordinary
            chat agent.
        stages: for an optimizer without a model, its own stage functions (`stages.Variants`; typed
            loosely here because stages lie above the ports).
        variables: provider variables by the setting each one stands for (a field of
            `RoleConfig`; "api_key_env" for those that hold the key), strongest first. `{ROLE}` in
            a name stands for the role in capitals. The first one that is not empty counts.
        needs: settings without which no call can be made, checked before a run; the first that is
            not met is the error.
        honours: fields of `RoleConfig` it heeds beyond those every backend does.
        offers: abilities, for lists; what counts in a run is what the opened backend offers.
        free: whether its calls cost no money, whatever the model.
        runs_programs: whether its attempts start programs on this machine, so that it matters how
            well the executor isolates them.
        networked: whether those need the network, which isolation would keep from them.
        prices: what the price table calls its provider; "" where that depends on the address.
        requires: one line on what it needs, for `skillopt backends list`.
        missing: what of that is absent on this machine, given the environment; empty when ready.
        extra: the pip extra that brings its packages, if any.
    """

    name: str
    summary: str
    roles: frozenset[Role]
    open: Callable[[RoleSettings], ChatBackend] | None = None
    agent: Callable[[ChatBackend, RoleSettings], AgentBackend] | None = None
    stages: object | None = None
    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    honours: frozenset[str] = frozenset()
    offers: frozenset[str] = frozenset()
    free: bool = False
    runs_programs: bool = False
    networked: bool = False
    prices: str = ""
    requires: str = ""
    missing: Callable[[Mapping[str, str]], str] = lambda environment: ""
    extra: str = ""

    def said(self, role: Role, environment: Mapping[str, str]) -> dict[str, str]:
        """The variable that speaks for each setting of a role; settings without one are absent."""
        found: dict[str, str] = {}
        for setting, templates in self.variables.items():
            names = (template.format(ROLE=role.upper()) for template in templates)
            name = next((n for n in names if environment.get(n, "").strip()), None)
            if name is not None:
                found[setting] = name
        return found


@dataclass(frozen=True, slots=True)
class BenchmarkRequest:
    """What a benchmark is told when opened.

    Attributes:
        split_dir: folder with train/, selection/ (or val/) and test/; None for prepared or
            bundled data.
        data_root: where `skillopt data prepare` puts data, usually `data`.
        limit: keep the first N tasks of each split; 0 keeps all.
        options: the remaining keys of the `env` section.
    """

    split_dir: Path | None = None
    data_path: Path | None = None
    data_root: Path = Path("data")
    split_ratio: str = "2:1:7"
    split_seed: int = 42
    limit: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BenchmarkSpec:
    """What an entry point of the group `skillopt.benchmarks` holds.

    Attributes:
        open: loads the data and makes the benchmark.
        options: names of the `env.*` keys it understands beyond the shared ones.
        prepare: downloads the full data into a folder; None when there is nothing to download.
        sample: the bundled sample's folder, None when there is none.
        prompts: texts in the place of the optimizer's prompts of these names, such as
            "analyst_error".
    """

    name: str
    summary: str
    open: Callable[[BenchmarkRequest], Benchmark]
    options: frozenset[str] = frozenset()
    prepare: Callable[[Path, Path | None], Mapping[Split, int]] | None = None
    sample: Path | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
