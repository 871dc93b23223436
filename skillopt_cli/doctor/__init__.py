"""Checks of a setup, each with its state and a fix.

Offline and free, unless models are to be called; nothing that is written stays but consent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from skillopt_cli.benchmarks.kit.data_check import check_data
from skillopt_cli.compose.benchmark import open_benchmark, splits_in_use
from skillopt_cli.compose.endpoints import roles_of
from skillopt_cli.compose.executors import passing_executor
from skillopt_cli.compose.own_tasks import inferred_reason
from skillopt_cli.compose.privilege import Privilege, privilege_lines
from skillopt_cli.compose.prompts import run_prompts
from skillopt_cli.compose.seed_skill import (
    check_loadable,
    files_left_out,
    seed_skill,
    skill_notices,
)
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.compose.trust import agree, refusal, required, unapproved
from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import DEFAULT, Resolved
from skillopt_cli.config.section import is_address
from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.core.events import Role
from skillopt_cli.core.formatting import count
from skillopt_cli.core.task import SPLITS
from skillopt_cli.doctor.check import Check, failing, passed, run_check, warning
from skillopt_cli.doctor.folders import check_journal, check_outputs, check_runs
from skillopt_cli.doctor.machine import (
    Terminal,
    check_package,
    check_plugins,
    check_python,
    check_terminal,
    check_trackers,
)
from skillopt_cli.doctor.models import check_addresses, check_answers, check_role, playing
from skillopt_cli.doctor.sandbox import check_sandbox
from skillopt_cli.plugins import load_benchmark
from skillopt_cli.ports import Benchmark

__all__ = ["Check", "Setup", "Terminal", "check_setup", "exit_code"]


@dataclass(frozen=True, slots=True)
class Setup:
    """What is checked.

    Attributes:
        calls: make one tiny call per role as well.
    """

    overrides: Overrides
    environment: Mapping[str, str]
    terminal: Terminal
    calls: bool = False


async def check_setup(setup: Setup) -> list[Check]:
    """All checks, in the order in which a run needs things.

    With an invalid configuration, the checks that depend on it are left out.
    """
    found = [
        *await run_check("python", check_python),
        *await run_check("package", check_package),
        *await run_check("plug-ins", check_plugins),
    ]
    settled: list[Resolved] = []

    def configure() -> list[Check]:
        settled.append(settle(replace(setup.overrides, roles=()), setup.environment))
        return [passed("configuration", _sources(settled[0]))]

    found += await run_check("configuration", configure)
    for resolved in settled:
        found += await _of_run(setup, resolved)
    return [*found, *await run_check("terminal", partial(check_terminal, setup.terminal))]


def exit_code(found: Sequence[Check]) -> int:
    """That of the first failing row, 0 when none fails."""
    return next((check.code for check in found if check.state == "failing"), 0)


async def _of_run(setup: Setup, resolved: Resolved) -> list[Check]:
    config, overrides, environment = resolved.config, setup.overrides, setup.environment
    roles = roles_of(config)
    asked = {role: _asked(role, overrides, resolved, environment) for role in roles}
    found = await run_check("consent", partial(check_consent, asked, trust=overrides.trust))
    refused = bool(exit_code(found))
    if refused:
        roles = tuple(role for role in roles if not unapproved(asked[role]))
        found += [_unchecked(setup, config, [role for role in asked if role not in roles])]
    found += await _of_tasks(config, environment, started=not refused)
    ready: list[Role] = []
    for role in roles:
        rows = await run_check(role, partial(check_role, role, overrides, config, environment))
        ready += [] if exit_code(rows) else [role]
        found += rows
    if not refused:
        reach = partial(check_addresses, config, environment, ready, calls=setup.calls)
        found += await run_check("address", reach)
    if setup.calls and not refused:
        found += await run_check("models answer", partial(check_answers, overrides, environment))
    players = {role: spec for role in asked if (spec := playing(config, role))}
    found += await run_check("sandbox", partial(check_sandbox, config, environment, players))
    if not refused:
        found += await run_check("tracker", partial(check_trackers, config, environment))
    for name, look in (
        ("outputs", check_outputs),
        ("journal", check_journal),
        ("runs", check_runs),
    ):
        if not (refused and name == "journal" and is_address(config.run.cache_dir)):
            found += await run_check(name, partial(look, config))
    return found


def _asked(
    role: Role, overrides: Overrides, resolved: Resolved, environment: Mapping[str, str]
) -> tuple[Privilege, ...]:
    """What a role needs beyond the run's own process, as far as it can be used."""
    # What cannot be used has a row of its own, and starts nothing.
    with suppress(ConfigError):
        return required(replace(overrides, roles=(role,)), resolved, environment)
    return ()


def _unchecked(setup: Setup, config: RunConfig, roles: Sequence[Role]) -> Check:
    """The row that names what is not checked without consent, as it may start or call something."""
    env, cache = config.env, config.run.cache_dir
    names = [
        *roles,
        "addresses",
        *(["answers of models"] if setup.calls else []),
        *(["trackers"] if config.run.trackers else []),
        *(["scoring of the data"] if env.name and load_benchmark(env.name).runs_programs else []),
        *(["journal"] if is_address(cache) else []),
    ]
    return warning("not checked", ", ".join(names), "agree first, with `--trust`")


async def _of_tasks(
    config: RunConfig, environment: Mapping[str, str], *, started: bool
) -> list[Check]:
    """The rows on the tasks and texts.

    Args:
        started: whether programs may be started.
    """
    if not config.env.name:
        found = [warning("data", "no benchmark is named", "skillopt doctor searchqa")]
        if config.env.skill_init:
            found += await run_check("seed skill", partial(check_seed, config, ""))
        return found
    opened: list[Benchmark] = []

    def load() -> list[Check]:
        opened.append(open_benchmark(config))
        return []

    found = await run_check("data", load)
    for benchmark in opened:
        faults: list[Check] = []
        if started or not load_benchmark(config.env.name).runs_programs:
            faults = await run_check("data", partial(check_tasks, config, benchmark, environment))
            found += faults
        # Whatever keeps a run from its tasks is a fault of the data as well.
        if not exit_code(faults):
            found += await run_check("tasks used", partial(check_use, config, benchmark))
        found += await run_check("seed skill", partial(check_texts, config, benchmark.seed_skill))
    return found


def check_consent(asked: Mapping[Role, Sequence[Privilege]], *, trust: bool) -> Iterator[Check]:
    """What a run does beyond its own process, and that the user agreed to what files ask for.

    What `--trust` agrees to is remembered, as by a run.

    Args:
        asked: by role.
        trust: whether the user agrees to all of it.

    Raises:
        NotTrusted: there is no consent.
    """
    found = [one for several in asked.values() for one in several]
    if (lacking := unapproved(found)) and not trust:
        raise refusal(lacking)
    agree(lacking)
    for line in privilege_lines(found):
        yield passed("consent", line)


def _sources(resolved: Resolved) -> str:
    """The sources of the settings, weakest first where that is known; what is inferred last."""
    named = dict.fromkeys(s for s in resolved.sources.values() if s != DEFAULT)
    inferred = [key for key, source in resolved.sources.items() if inferred_reason(source)]
    given = [source for source in named if not inferred_reason(source)]
    if inferred:
        names = ", ".join(key.removeprefix("env.") for key in inferred)
        given.append(f"inferred from the tasks: {names}")
    return f"defaults, {', '.join(given)}" if given else "defaults only"


async def check_tasks(
    config: RunConfig, benchmark: Benchmark, environment: Mapping[str, str]
) -> list[Check]:
    """The splits suffice and do not leak, as `skillopt data check` looks at them.

    Raises:
        ConfigError: as `open_executor`.
    """
    sizes = [f"{len(benchmark.tasks(split))} {split}" for split in SPLITS]
    told = all(size in benchmark.source for size in sizes)
    counts = "" if told else f" ({' / '.join(sizes)})"
    found = [passed("data", f"{benchmark.name}: {benchmark.source}{counts}")]
    more = f"`skillopt data check {benchmark.name}` says more"
    with passing_executor(config, environment) as executor:
        findings = await check_data(benchmark, executor)
    for finding in findings:
        if finding.level == "error":
            found.append(failing("data", DataError(finding.what), finding.hint or more))
        elif finding.level == "warning":
            found.append(warning("data", finding.what, finding.hint or more))
    return found


def check_use(config: RunConfig, benchmark: Benchmark) -> Iterator[Check]:
    """The run finds the tasks that it asks for.

    Raises:
        DataError: it does not.
    """
    used = splits_in_use(config, benchmark)
    sizes = ", ".join(f"{len(tasks)} {split}" for split, tasks in used.items())
    yield passed("tasks used", sizes)


def check_texts(config: RunConfig, shipped: str) -> Iterator[Check]:
    """Prompts and seed skill can be read, as `check_seed` looks at it.

    Args:
        shipped: the benchmark's own seed skill.

    Raises:
        SkillOptError: one cannot.
    """
    run_prompts(config)
    yield from check_seed(config, shipped)


def check_seed(config: RunConfig, shipped: str) -> Iterator[Check]:
    """The seed skill can be read, and the target can load it; what a run notes about its text.

    Raises:
        SkillOptError: it cannot be read, or the target would not load it.
    """
    seed = seed_skill(config.env, shipped)
    # A role that cannot be played has a row of its own.
    if (target := playing(config, "target")) is not None:
        check_loadable((seed,), target)
    source = config.env.skill_init or ("empty" if config.env.from_scratch else "the benchmark's")
    beside = f" and {count(len(seed.folder.files), 'file')} beside it" if seed.folder else ""
    yield passed("seed skill", f"{source}, {len(seed.text)} characters{beside}")
    for notice in (*skill_notices((seed,)), *files_left_out(seed, Path(config.env.skill_init))):
        yield warning("seed skill", notice.reason, "correct the skill, or train it as it is")
