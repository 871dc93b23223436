"""`skillopt sweep`."""

from __future__ import annotations

import json as json_text
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.cli.execute import execute
from skillopt_cli.cli.options import JsonOption
from skillopt_cli.cli.output import show, show_json
from skillopt_cli.cli.run_flags import EVERY, with_run_flags
from skillopt_cli.compose.flags import flag_layers
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.run_folder import new_folder
from skillopt_cli.compose.schedule import caps_of
from skillopt_cli.compose.settings import Overrides
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.layers import resolve
from skillopt_cli.core.caps import CAPS
from skillopt_cli.core.errors import (
    BudgetExhausted,
    DataError,
    Interrupted,
    NoImprovement,
    RunLocked,
    SkillOptError,
)
from skillopt_cli.engine.session import train_session
from skillopt_cli.permissions import make_folder, share
from skillopt_cli.reports.terminal import as_rich
from skillopt_cli.runlog.run_log import read_view
from skillopt_cli.runlog.text.format import count, pair
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.atomic_files import replace_text
from skillopt_cli.store.layout import CONFIG
from skillopt_cli.store.lock import lock_run
from skillopt_cli.sweeps.budget import SweepBudget
from skillopt_cli.sweeps.command import sweep_command
from skillopt_cli.sweeps.grid import SweepGrid, read_grid
from skillopt_cli.sweeps.report import sweep_document, sweep_page
from skillopt_cli.sweeps.results import SweepResults, sweep_results
from skillopt_cli.sweeps.runner import InProcess, ProcessRunner, StopSignals
from skillopt_cli.sweeps.scheduler import Scheduler
from skillopt_cli.sweeps.search import SearchSource
from skillopt_cli.sweeps.trials import (
    RESULT,
    GridSource,
    Trial,
    TrialFactory,
    trial_label,
    with_run,
)

GridArgument = Annotated[Path, typer.Argument(metavar="GRID", help="YAML file of the sweep.")]
JobsOption = Annotated[
    int, typer.Option(min=1, metavar="<int>", help="Runs at the same time; above 1 as processes.")
]


@with_run_flags(*EVERY)
def sweep(
    *,
    grid: GridArgument,
    jobs: JobsOption = 1,
    json: JsonOption = False,
    overrides: Overrides,
) -> None:
    """Train with every combination of a grid of settings, or search for a good one.

    Called again, it goes on where it was: finished runs are kept, others are taken up, and nothing
    is paid for twice. The flags of a run hold for all runs; --max-usd and the other caps hold for
    all of them together.
    """
    read = _with_caps(read_grid(grid), overrides)
    own = {key: value for key, value in overrides.flags.items() if key not in _CAP_KEYS}
    factory = TrialFactory(read, replace(overrides, flags=own), read_environment())
    home = factory.home
    listed = factory.all() if read.search is None else []
    with _locked(home, factory.mode):
        source = GridSource(listed) if read.search is None else SearchSource(factory)
        budget, signals = SweepBudget(caps_of(read.caps)), StopSignals()
        alone = jobs == 1 and not source.wants_progress
        runner = (
            InProcess(_Training(quiet=json), signals)
            if alone
            else ProcessRunner(_Training(), jobs, home)
        )
        with signals.counting():
            outcome = Scheduler(source, runner, budget, read_view, _Told(read), signals).run()
        found = sweep_results(source.trials, outcome, read_view)
        code = _exit_code(found)
        command = sweep_command(grid, overrides, jobs)
        document = sweep_document(read, found, budget, code)
        document |= {"command": command, "working_folder": str(Path.cwd())}
        text = json_text.dumps(document, ensure_ascii=False, indent=2)
        replace_text(home / RESULT, f"{text}\n")
    if json:
        show_json(document)
    else:
        show(as_rich(sweep_page(read, found, budget)))
    if found.outcome.interrupted:
        raise Interrupted("stopped by the user", f"`{command}` continues the sweep")
    raise typer.Exit(code)


_CAP_KEYS = tuple(f"run.{cap}" for cap in CAPS)


def _with_caps(grid: SweepGrid, overrides: Overrides) -> SweepGrid:
    """The grid with the caps of the command line in the place of its own."""
    given = {key: limit for key, limit in overrides.flags.items() if key in _CAP_KEYS}
    run = resolve(list(flag_layers(given))).config.run
    said = {cap: limit for cap in CAPS if (limit := getattr(run, cap)) is not None}
    return replace(grid, caps=grid.caps.model_copy(update=said))


@contextmanager
def _locked(home: Path, mode: int) -> Iterator[None]:
    """Hold the sweep's folder for this process.

    Raises:
        RunLocked: another process carries it out.
    """
    try:
        make_folder(home, mode)
        share(home, mode)
    except OSError as error:
        raise DataError(
            f"cannot make the folder {home}: {error.strerror}", "choose another --out-root"
        ) from error
    try:
        with lock_run(home):
            yield
    except RunLocked as error:
        raise RunLocked(
            error.message.replace("the run folder", "the sweep"), "wait until it ends, or stop it"
        ) from None


@dataclass(frozen=True, slots=True)
class _Training:
    """Trains a trial in this process, or takes it up.

    Attributes:
        quiet: show nothing, unless a display is asked for.
    """

    quiet: bool = False

    def __call__(self, trial: Trial) -> None:
        environment = read_environment()
        config = trial.config
        if self.quiet and config.run.display == "auto":
            config = with_run(config, display="none")
        request = RunRequest(config, environment)
        if (trial.folder / CONFIG).is_file():
            execute(trial.folder, request, train_session, as_json=False)
            return
        with new_folder(config, trial.run_id, datetime.now().astimezone()) as folder:
            execute(folder, request, train_session, as_json=False)


@dataclass(frozen=True, slots=True)
class _Told:
    """Prints on stderr what happens to the runs of a sweep."""

    grid: SweepGrid

    def skipped(self, runs: int) -> None:
        verb = "is" if runs == 1 else "are"
        self._print(f"{count(runs, 'run')} {verb} finished")

    def run(self, what: str, trial: Trial, view: RunView, message: str = "") -> None:
        settings = trial_label(trial, self.grid.axes)
        line = f"{what} {trial.run_id} ({settings})"
        base = view.baseline.value if view.baseline else None
        if what == "finished":
            before, best = pair(base, view.standing.best)
            line += f": selection {before} -> {best}"
        self._print(f"{line}: {message}" if message else line)

    def _print(self, line: str) -> None:
        # The terminal may be closed, and the runs are still to be stopped.
        with suppress(OSError):
            typer.echo(f"[sweep {self.grid.name}] {line}", err=True)


def _exit_code(found: SweepResults) -> int:
    """Interrupted and caps first, then the first run that failed; 10 where none improved."""
    if found.outcome.interrupted:
        return Interrupted.exit_code
    if found.outcome.capped:
        return BudgetExhausted.exit_code
    for failed in found.outcome.failures.values():
        return failed.code if failed.code > 0 else SkillOptError.exit_code
    codes = [view.ending.exit_code for r in found.results if (view := r.view).ending]
    if codes and all(code == NoImprovement.exit_code for code in codes):
        return NoImprovement.exit_code
    return 0
