"""Files, variables and flags, resolved to one configuration in that order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from skillopt_cli.compose.endpoints import (
    ROLES,
    backend_flag_layers,
    backend_layers,
    check_roles,
    playing,
    provider_layers,
)
from skillopt_cli.compose.flags import check_named_once, flag_layers
from skillopt_cli.compose.own_tasks import argument_layers, inferred_layers
from skillopt_cli.compose.privilege import Privilege
from skillopt_cli.compose.script_paths import with_script_paths
from skillopt_cli.compose.secrets import known_secrets, refuse_keys
from skillopt_cli.config import RunConfig
from skillopt_cli.config.files import benchmark_layers, file_layers, preset_layers
from skillopt_cli.config.layers import (
    DEFAULT,
    Layer,
    Resolved,
    Strength,
    assignment_layers,
    environment_layers,
    explained,
    resolve,
)
from skillopt_cli.config.section import in_home
from skillopt_cli.config.suggestions import suggestion
from skillopt_cli.core.errors import ConfigError, DataError, SkillOptError
from skillopt_cli.core.events import Role
from skillopt_cli.core.secrets import Secrets
from skillopt_cli.plugins import load_benchmark, load_tracker
from skillopt_cli.store.layout import CONFIG

Consent = Callable[[RunConfig, Sequence[Privilege], Sequence[Privilege]], bool]


@dataclass(frozen=True, slots=True)
class Overrides:
    """Settings from the command line, or from a form in its place.

    Attributes:
        benchmark: its name, or the path of own tasks.
        flags: settings by dotted key, from dedicated flags.
        backend_flags: values by flag, of settings of each role that the flag's backend plays.
        assignments: `section.key=value` texts of `--set`.
        layers: settings from elsewhere, below the flags of the command line where as strong.
        roles: roles the command needs; only these must be reachable.
        scored: whether attempts are scored; where not, tasks need no answers.
        example: a command that names a benchmark, for who named none.
        resumed: whether `config` is that of a run, which is complete: `default` adds nothing to it.
        run_folder: the run whose settings these are, or which is gone on with.
        trust: whether the user agrees to whatever files ask for.
        consent: shows what a run asks for, and returns whether the user agrees to the part of it
            that lacks consent.
    """

    benchmark: str = ""
    preset: str = ""
    config: Path | None = None
    flags: Mapping[str, object] = field(default_factory=dict)
    backend_flags: Mapping[str, str] = field(default_factory=dict)
    assignments: Sequence[str] = ()
    layers: Sequence[Layer] = ()
    roles: tuple[Role, ...] = ROLES
    scored: bool = True
    example: str = "skillopt train searchqa"
    resumed: bool = False
    run_folder: Path | None = None
    trust: bool = False
    consent: Consent = lambda config, asked, lacking: False

    @property
    def out_root(self) -> Path:
        """The folder of all runs."""
        return Path(in_home(str(self.flags.get("env.out_root", "outputs"))))

    def measuring(self, home: Path | None, example: str) -> Overrides:
        """The overrides of a command that measures a skill, for which no optimizer is needed.

        Args:
            home: the run that the skill is of; its benchmark and settings are in force, unless
                others are named.
        """
        own = home if home and not (self.benchmark or self.config) else None
        config = own / CONFIG if own else self.config
        return replace(self, roles=("target",), config=config, example=example, run_folder=own)


def settle(overrides: Overrides, environment: Mapping[str, str]) -> Resolved:
    """The effective configuration and the source of each value; its `roles` must be reachable.

    Raises:
        ConfigError: anything about it does not hold.
        UsageError, DataError: own tasks that are given by a path cannot be read.
    """
    own = file_layers(overrides.config) if overrides.config else []
    preset = overrides.preset or ("" if overrides.resumed else DEFAULT)
    presets = preset_layers(preset) if preset else []
    files = [*presets, *own]
    above = [*environment_layers(environment), *overrides.layers, *_flag_layers(overrides)]
    above += argument_layers(overrides.benchmark)
    draft = resolve([*files, *above])
    inferred: list[Layer] = []
    unused = ""
    if not overrides.resumed:
        inferred, unused = inferred_layers(draft, overrides.benchmark, scored=overrides.scored)
    named = resolve([*inferred, *files, *above]).config.env.name
    layers = [*benchmark_layers(named), *inferred, *files, *above]
    draft = resolve(layers)
    if named:
        _check_options(draft)
    elif overrides.resumed:
        raise DataError(
            f"{overrides.config} names no benchmark, as the file of a run does",
            "restore it from a copy",
        )
    elif overrides.roles:
        raise ConfigError(
            "no benchmark is named",
            f"for example `{overrides.example}`, a file of own tasks, or env.name in YAML",
        )
    layers += backend_layers(draft, environment)
    draft = resolve(layers)
    roles = acting_roles(overrides, draft.config)
    specs = playing(draft, roles)
    # Before the others, so that a flag for one role wins over one for all that a backend plays.
    for_roles = [*backend_flag_layers(overrides.backend_flags, specs)]
    check_named_once(
        [*flag_layers(overrides.flags), *for_roles], assignment_layers(overrides.assignments)
    )
    layers = [*for_roles, *layers]
    layers += provider_layers(draft, environment, specs)
    settled = replace(with_script_paths(resolve(layers)), unused=unused)
    refuse_keys(settled, environment)
    _check_seed(settled)
    _check_trackers(settled.config.run.trackers)
    check_roles(settled, specs, roles)
    return settled


def acting_roles(overrides: Overrides, config: RunConfig) -> tuple[Role, ...]:
    """The roles that the command needs, with the judge where the target's answers have one."""
    env, roles = config.env, overrides.roles
    judged = env.name and load_benchmark(env.name).needs_judge(env.options)
    heard = judged and overrides.scored and "target" in roles
    return (*roles, "judge") if heard else roles


def shown_secrets(overrides: Overrides, environment: Mapping[str, str]) -> Secrets:
    """What a command must not show; that of variables alone where the configuration is at fault."""
    try:
        return known_secrets(environment, settle(replace(overrides, roles=()), environment).config)
    except SkillOptError:
        return known_secrets(environment)


def _flag_layers(overrides: Overrides) -> Iterator[Layer]:
    yield from flag_layers(overrides.flags)
    yield from assignment_layers(overrides.assignments)


def _check_options(draft: Resolved) -> None:
    """Refuse `env` keys that the benchmark does not know, and values that cannot be theirs.

    Raises:
        ConfigError: a key is unknown to it, or a value is out of its range.
    """
    env = draft.config.env
    spec = load_benchmark(env.name)
    known = spec.option_names
    for key in env.options:
        if key not in known:
            source = next(
                (s for k, s in draft.sources.items() if f"{k}.".startswith(f"env.{key}.")), ""
            )
            keys = [f"env.{name}" for name in (*type(env).model_fields, *sorted(known))]
            raise ConfigError(
                f"unknown configuration key `env.{key}` ({source}) of benchmark `{env.name}`",
                suggestion(f"env.{key}", keys),
            )
    if spec.options is None:
        return
    try:
        spec.options.model_validate(dict(env.options))
    except ValidationError as error:
        raise explained(error, draft.sources, spec.options) from None


def _check_trackers(names: Iterable[str]) -> None:
    """Refuse trackers that cannot be loaded.

    Raises:
        ConfigError: there is none of a name, or its plug-in is broken.
    """
    for name in names:
        try:
            load_tracker(name)
        except ConfigError as error:
            raise ConfigError(f"`run.trackers`: {error.message}", error.hint) from error


def _check_seed(settled: Resolved) -> None:
    """Refuse two seeds at once, where neither is a default.

    Raises:
        ConfigError: a seed skill is named by as strong a word as an empty one.
    """
    env = settled.config.env
    both = ("env.skill_init", "env.from_scratch")
    if env.skill_init and env.from_scratch and {*map(settled.rank, both)} == {Strength.FLAG}:
        raise ConfigError(
            "`env.skill_init` and `env.from_scratch` exclude each other", "give one of the two"
        )
