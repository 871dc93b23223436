"""Specs of backends and benchmarks: what entry points hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

from skillopt_cli.core.errors import BackendUnusable
from skillopt_cli.core.events import Role
from skillopt_cli.core.secrets import Secrets
from skillopt_cli.core.task import Split
from skillopt_cli.ports.backend import AgentBackend, ChatBackend
from skillopt_cli.ports.benchmark import Benchmark
from skillopt_cli.ports.executor import Executor


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """The resolved settings of a role, for its backend; with the key itself, which is never logged.

    Attributes:
        key_from: the variable that holds the key, for messages; "" for none.
        environment: provider variables, the real environment over `.env`.
        options: the backend's own section of the configuration, `model.<backend>.*`, and of the
            settings that only some backends use (`Endpoint`) those that it `honours`.
        timeout: seconds per call.
        workers: calls in flight the run will ask for.
        secrets: of the run, the key among them; messages quote nothing of them.
        refused: optional parameters this model was found not to take, so far.
        on_refused: called with each one found out from now on.
    """

    role: Role
    model: str
    base_url: str = ""
    api_key: SecretStr | None = None
    key_from: str = ""
    temperature: float | None = None
    reasoning_effort: str = ""
    max_completion_tokens: int = 16384
    timeout: float = 120.0
    workers: int = 8
    seed: int = 42
    options: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Secrets = field(default_factory=Secrets, repr=False, compare=False)
    refused: frozenset[str] = frozenset()
    on_refused: Callable[[str], None] = lambda parameter: None

    def __post_init__(self) -> None:
        if self.api_key is not None:
            self.secrets.learn(self.api_key.get_secret_value(), self.key_from or "api_key_env")


@dataclass(frozen=True, slots=True)
class Need:
    """Settings of a role one of which must be there before any call.

    Attributes:
        settings: fields of `RoleConfig`; any one of them will do.
        lack: the error when none is set; `{role}` becomes the role, `{ROLE}` the role in capitals.
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

    def error(self, role: Role) -> BackendUnusable:
        """Return the error for a role that does not meet the need."""
        words = {"role": role, "ROLE": role.upper()}
        return BackendUnusable(self.lack.format(**words), self.hint.format(**words))


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast a backend answers, as far as that is known before its first call.

    Attributes:
        seconds: of a call, more than 0.
        at_once: calls that it answers at a time, at least 1; None for as many as it is asked.
    """

    seconds: float
    at_once: int | None = None


MODEL_NAMED = Need(("name",), "no model is named for the {role}", "add `model.{role}.name=NAME`")
"""What every backend needs that has no model of its own."""


@dataclass(frozen=True, slots=True)
class ProgramSource:
    """Where to look for a program.

    Attributes:
        setting: the configuration key that may hold its path, or the program with its arguments.
        variables: environment variables that may hold its path, strongest first.
        command: its name on the search path; "" where it must be configured.
        bundled: returns its path in a Python package, or None if that is not installed.
        install: how to get it.
        gets: the configuration key that lists variables which it is given; "" for none.
    """

    setting: str
    variables: tuple[str, ...] = ()
    command: str = ""
    bundled: Callable[[], Path | None] = lambda: None
    install: str = ""
    gets: str = ""


@dataclass(frozen=True, slots=True)
class Service:
    """A service that a benchmark asks, by the options that configure it.

    Attributes:
        address: the option that holds its address.
        key: the option that names the variable with its key.
        when: it is asked only while each of these options has this value.
    """

    address: str
    key: str
    when: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BackendSpec:
    """What an entry point of the group `skillopt.backends` holds.

    Attributes:
        open: makes the chat backend of a role; it may also be an async context manager. None for an
            optimizer that needs no model.
        agent: makes an agent of that chat backend and the role's settings; None for the ordinary
            chat agent.
        program_chat: for a program that is asked: makes what is asked, in every role but the
            target's, of that chat backend, the role's settings, and where the program may run. What
            it makes opens and closes the chat backend.
        stages: for an optimizer without a model, its own stage functions (`stages.Variants`; typed
            loosely here because stages lie above the ports).
        variables: provider variables by the setting each one gives (a field of
            `RoleConfig`; "api_key_env" for those that hold the key), strongest first. `{ROLE}` in
            a name is replaced by the role in capitals. The first one that is not empty counts.
        address: returns the base URL of calls for which none is named, given the settings that it
            `honours`; "" where there is none, or where a program makes the calls.
        homes: hosts of its provider, to which its keys usually go; one that begins with a dot
            means all below it. Empty for the host of `address`.
        own_keys: of the variables that hold its key, those for servers of the user's own, which
            may be on this machine.
        default_model: the model of a role for which nothing names one; "" where one must be named.
        needs: settings without which no call can be made, checked before a run; the first that is
            not met is the error.
        honours: fields of `RoleConfig` it uses beyond those every backend does.
        ignores: fields of `RoleConfig` every other backend uses, and this one cannot.
        options: its own section of the configuration, `model.<name>`, whose fields may declare
            flags and more by `Setting`; None for none.
        flags: flags of its own for settings of a role (fields of `RoleConfig`), which hold for the
            roles it plays.
        offers: abilities, for lists and plans; what counts in a run is what the opened backend
            offers.
        free: whether its calls cost no money, whatever the model.
        speed: returns how fast its calls are on this machine; None where a service decides that.
        runs_programs: whether it starts programs on this machine, to attempt or to answer, so that
            it matters how well the executor isolates them.
        program: the program that it starts, if it is one.
        loads_skills: whether they look for skills as files whose front matter has limits.
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
    program_chat: Callable[[ChatBackend, RoleSettings, Executor], ChatBackend] | None = None
    stages: object | None = None
    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    address: Callable[[Mapping[str, object]], str] = lambda settings: ""
    homes: tuple[str, ...] = ()
    own_keys: tuple[str, ...] = ()
    default_model: str = ""
    needs: tuple[Need, ...] = ()
    honours: frozenset[str] = frozenset()
    ignores: frozenset[str] = frozenset()
    options: type[BaseModel] | None = None
    flags: Mapping[str, str] = field(default_factory=dict)
    offers: frozenset[str] = frozenset()
    free: bool = False
    speed: Callable[[RoleSettings], Speed] | None = None
    runs_programs: bool = False
    program: ProgramSource | None = None
    loads_skills: bool = False
    networked: bool = False
    prices: str = ""
    requires: str = ""
    missing: Callable[[Mapping[str, str]], str] = lambda environment: ""
    extra: str = ""

    def variables_set(self, role: Role, environment: Mapping[str, str]) -> dict[str, str]:
        """The name of the variable that sets each setting of a role, where one does."""
        found: dict[str, str] = {}
        for setting, templates in self.variables.items():
            names = (template.format(ROLE=role.upper()) for template in templates)
            name = next((n for n in names if environment.get(n, "").strip()), None)
            if name is not None:
                found[setting] = name
        return found


@dataclass(frozen=True, slots=True)
class BenchmarkRequest:
    """The settings with which a benchmark is opened.

    Attributes:
        split_dir: folder with train/, selection/ (or val/) and test/; None for prepared or
            bundled data.
        data_root: where `skillopt data prepare` puts data, usually `data`.
        limit: keep the first N tasks of each split; 0 keeps all.
        options: the remaining keys of the `env` section.
        scored: whether attempts are scored. Where not, tasks need no answers: none is read, and a
            file is not cut, but its tasks are the test split, in their order.
    """

    split_dir: Path | None = None
    data_path: Path | None = None
    data_root: Path = Path("data")
    split_ratio: str = "2:1:7"
    split_seed: int = 42
    limit: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    scored: bool = True


@dataclass(frozen=True, slots=True)
class Inferred:
    """A setting that tasks determine, and why, in a few words."""

    value: Any
    why: str


@dataclass(frozen=True, slots=True)
class Inference:
    """What tasks determine.

    Attributes:
        settings: of the section `env`, by key.
        unused: what of the tasks no attempt reads, in a few words; empty where all is used.
    """

    settings: Mapping[str, Inferred] = field(default_factory=dict)
    unused: str = ""


@dataclass(frozen=True, slots=True)
class BenchmarkSpec:
    """What an entry point of the group `skillopt.benchmarks` holds.

    Attributes:
        open: loads the data and makes the benchmark.
        options: the `env.*` keys it understands beyond the shared ones; None for none.
        modality: what tasks consist of, such as "text", "images", "tools", "code".
        sizes: tasks per split of the full data as published; empty when unknown.
        prepare: downloads the full data into a folder; None when there is nothing to download.
        sample: the bundled sample's folder, None when there is none.
        extra: the pip extra that brings its packages, if any.
        missing: what of its packages and programs is absent on this machine; empty when ready.
        runs_programs: whether its attempts start programs, such as code that a model wrote.
        services: what its tasks ask beside the models.
        judged: whether some scores are a model's judgement, so that a run needs a judge.
        judged_with: options with which it is judged, such as {"scorer": "judge"}.
        prompts: texts in the place of the optimizer's prompts of these names, such as
            "analyst_error".
        infer: what the tasks of a request determine, where those of its options that are given
            hold; None where tasks determine nothing.
        cpus, memory_mb: what an attempt takes of a node of a cluster, this program included; more
            where the target runs programs of its own.
    """

    name: str
    summary: str
    open: Callable[[BenchmarkRequest], Benchmark]
    options: type[BaseModel] | None = None
    modality: tuple[str, ...] = ("text",)
    sizes: Mapping[Split, int] = field(default_factory=dict)
    prepare: Callable[[Path, Path | None], Mapping[Split, int]] | None = None
    sample: Path | None = None
    extra: str = ""
    missing: Callable[[], str] = lambda: ""
    runs_programs: bool = False
    services: tuple[Service, ...] = ()
    judged: bool = False
    judged_with: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    infer: Callable[[BenchmarkRequest], Inference] | None = None
    cpus: float = 0.25
    memory_mb: int = 500

    @property
    def option_names(self) -> frozenset[str]:
        """The names of its options."""
        return frozenset(self.options.model_fields if self.options else ())

    def needs_judge(self, options: Mapping[str, Any]) -> bool:
        """Whether a run with these options needs a judge."""
        return self.judged or any(options.get(k) == v for k, v in self.judged_with.items())
