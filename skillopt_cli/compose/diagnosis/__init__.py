"""Every check of a setup: what is well, what is odd, and what mends it.

Offline and free, unless models shall be asked; nothing is written that stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from skillopt_cli.compose.build import open_benchmark
from skillopt_cli.compose.diagnosis.check import Check, fine, guarded, odd
from skillopt_cli.compose.diagnosis.machine import (
    Terminal,
    check_package,
    check_plugins,
    check_python,
    check_terminal,
    check_trackers,
)
from skillopt_cli.compose.diagnosis.models import check_addresses, check_answers, check_role
from skillopt_cli.compose.diagnosis.places import check_journal, check_outputs, check_runs
from skillopt_cli.compose.diagnosis.task_data import check_tasks, check_texts, check_use
from skillopt_cli.compose.endpoints import roles_of
from skillopt_cli.compose.housing import passing_executor
from skillopt_cli.compose.settings import Wishes, settle
from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import DEFAULT, Resolved
from skillopt_cli.core.events import Role
from skillopt_cli.ports import Benchmark

__all__ = ["Check", "Patient", "Terminal", "diagnose", "exit_code"]


@dataclass(frozen=True, slots=True)
class Patient:
    """What is looked at.

    Attributes:
        asking: make one tiny call per role as well.
    """

    wishes: Wishes
    environment: Mapping[str, str]
    terminal: Terminal
    asking: bool = False


async def diagnose(patient: Patient) -> list[Check]:
    """All checks, in the order in which things are needed; those of a broken kind are left out.

    Where the configuration does not hold, nothing that depends on it can be looked at.
    """
    found = [
        *await guarded("python", check_python),
        *await guarded("package", check_package),
        *await guarded("plug-ins", check_plugins),
    ]
    settled: list[Resolved] = []

    def configure() -> list[Check]:
        settled.append(settle(replace(patient.wishes, roles=()), patient.environment))
        return [fine("configuration", _sources(settled[0]))]

    found += await guarded("configuration", configure)
    for resolved in settled:
        found += await _of_run(patient, resolved)
    return [*found, *await guarded("terminal", partial(check_terminal, patient.terminal))]


def exit_code(found: Sequence[Check]) -> int:
    """That of the first failing row, 0 when none fails."""
    return next((check.code for check in found if check.state == "failing"), 0)


async def _of_run(patient: Patient, resolved: Resolved) -> list[Check]:
    config, wishes, environment = resolved.config, patient.wishes, patient.environment
    found = await _of_tasks(config, environment)
    ready: list[Role] = []
    for role in roles_of(config):
        rows = await guarded(role, partial(check_role, role, wishes, config, environment))
        ready += [] if exit_code(rows) else [role]
        found += rows
    found += await guarded("address", partial(check_addresses, config, environment, ready))
    if patient.asking:
        found += await guarded("models answer", partial(check_answers, wishes, environment))
    found += await guarded("tracker", partial(check_trackers, config, environment))
    for name, look in (
        ("outputs", check_outputs),
        ("journal", check_journal),
        ("runs", check_runs),
    ):
        found += await guarded(name, partial(look, config))
    return found


async def _of_tasks(config: RunConfig, environment: Mapping[str, str]) -> list[Check]:
    if not config.env.name:
        return [odd("data", "no benchmark is named", "skillopt doctor searchqa")]
    opened: list[Benchmark] = []

    def load() -> list[Check]:
        opened.append(open_benchmark(config))
        return []

    found = await guarded("data", load)
    for benchmark in opened:
        with passing_executor(config, environment) as executor:
            found += await guarded("data", partial(check_tasks, benchmark, executor))
        found += await guarded("tasks used", partial(check_use, config, benchmark))
        found += await guarded("seed skill", partial(check_texts, config, benchmark))
    return found


def _sources(resolved: Resolved) -> str:
    """Where the settings come from, weakest first where that can be told."""
    named = dict.fromkeys(s for s in resolved.sources.values() if s != DEFAULT)
    return f"defaults, {', '.join(named)}" if named else "defaults only"
