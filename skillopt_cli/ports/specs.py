"""What entry points hold: backends and benchmarks, described as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

from skillopt_cli.core.events import Role
from skillopt_cli.core.task import Split
from skillopt_cli.ports.seams import AgentBackend, Benchmark, ChatBackend, Executor


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """What a backend is told about a role: resolved, with the key itself (never logged).

    Attributes:
        key_from: the variable that holds the key, for messages; "" for none.
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
    key_from: str = ""
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


MODEL_NAMED = Need(("name",), "no model is named for the {role}", "add `model.{role}.name=NAME`")
"""What every backend needs that has no model of its own."""


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
        variables: provider variables by the setting each one stands for (a field of
            `RoleConfig`; "api_key_env" for those that hold the key), strongest first. `{ROLE}` in
            a name stands for the role in capitals. The first one that is not empty counts.
        needs: settings without which no call can be made, checked before a run; the first that is
            not met is the error.
        honours: fields of `RoleConfig` it heeds beyond those every backend does.
        ignores: fields of `RoleConfig` every other backend heeds, and this one cannot.
        offers: abilities, for lists and plans; what counts in a run is what the opened backend
            offers.
        free: whether its calls cost no money, whatever the model.
        runs_programs: whether it starts programs on this machine, to attempt or to answer, so that
            it matters how well the executor isolates them.
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
    needs: tuple[Need, ...] = ()
    honours: frozenset[str] = frozenset()
    ignores: frozenset[str] = frozenset()
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
        options: the `env.*` keys it understands beyond the shared ones; None for none.
        modality: what tasks consist of, such as "text", "images", "tools", "code".
        sizes: tasks per split of the full data as published; empty when unknown.
        prepare: downloads the full data into a folder; None when there is nothing to download.
        sample: the bundled sample's folder, None when there is none.
        extra: the pip extra that brings its packages, if any.
        missing: what of its packages and programs is absent on this machine; empty when ready.
        runs_programs: whether its attempts start programs, such as code that a model wrote.
        judged: whether some scores are a model's judgement, so that a run needs a judge.
        judged_with: options with which it is judged, such as {"scorer": "judge"}.
        prompts: texts in the place of the optimizer's prompts of these names, such as
            "analyst_error".
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
    judged: bool = False
    judged_with: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)

    @property
    def option_names(self) -> frozenset[str]:
        """The names of its options."""
        return frozenset(self.options.model_fields if self.options else ())

    def needs_judge(self, options: Mapping[str, Any]) -> bool:
        """Whether a run with these options needs a judge."""
        return self.judged or any(options.get(k) == v for k, v in self.judged_with.items())
