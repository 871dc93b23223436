"""`skillopt sweep`."""

from __future__ import annotations

import json as json_text
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.cli.options import JsonOption
from skillopt_cli.cli.running import carry_out
from skillopt_cli.cli.show import show, show_json
from skillopt_cli.cli.wishes import CAPS, EVERY, with_run_flags
from skillopt_cli.compose.build import Order
from skillopt_cli.compose.flags import flag_layers
from skillopt_cli.compose.folder import CONFIG, new_folder
from skillopt_cli.compose.settings import Wishes
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.layers import resolve
from skillopt_cli.core.errors import (
    BudgetExhausted,
    DataError,
    Interrupted,
    NoImprovement,
    RunLocked,
    SkillOptError,
)
from skillopt_cli.engine.session import train_session
from skillopt_cli.store.files import replace_text
from skillopt_cli.store.lock import lock_run
from skillopt_cli.sweeps.crew import Here, Processes
from skillopt_cli.sweeps.grid import Grid, read_grid
from skillopt_cli.sweeps.report import sweep_document, sweep_page
from skillopt_cli.sweeps.results import Standings, standings
from skillopt_cli.sweeps.schedule import Schedule
from skillopt_cli.sweeps.search import Searched
from skillopt_cli.sweeps.sources import Listed
from skillopt_cli.sweeps.spending import Purse, caps_of
from skillopt_cli.sweeps.stops import Stops
from skillopt_cli.sweeps.trials import Maker, Trial, with_run, words
from skillopt_cli.ui.page import as_rich
from skillopt_cli.ui.reading import read_view
from skillopt_cli.ui.view import RunView
from skillopt_cli.ui.words import count, pair

RESULT = "sweep.json"
GridArgument = Annotated[Path, typer.Argument(metavar="GRID", help="YAML file of the sweep.")]
JobsOption = Annotated[
    int, typer.Option(min=1, metavar="<int>", help="Runs at work, as processes beyond 1.")
]


@with_run_flags(*EVERY)
def sweep(
    *,
    grid: GridArgument,
    jobs: JobsOption = 1,
    json: JsonOption = False,
    wishes: Wishes,
) -> None:
    """Train with every combination of a grid of settings, or search for a good one.

    Called again, it goes on where it was: finished runs are kept, others are taken up, and nothing
    is paid for twice. The flags of a run hold for all runs; --max-usd and the other caps hold for
    all of them together.
    """
    read = _with_caps(read_grid(grid), wishes)
    own = {key: value for key, value in wishes.flags.items() if key not in _CAP_KEYS}
    maker = Maker(read, replace(wishes, flags=own), read_environment())
    home = maker.home
    listed = maker.all() if read.search is None else []
    with _locked(home):
        source = Listed(listed) if read.search is None else Searched(maker)
        purse, stops = Purse(caps_of(read.caps)), Stops()
        alone = jobs == 1 and not source.watches
        crew = Here(_Training(quiet=json), stops) if alone else Processes(_Training(), jobs, home)
        with stops.noted():
            outcome = Schedule(source, crew, purse, read_view, _Told(read), stops).carry_out()
        found = standings(source.trials, outcome, read_view)
        code = _exit_code(found)
        document = sweep_document(read, found, purse, code)
        text = json_text.dumps(document, ensure_ascii=False, indent=2)
        replace_text(home / RESULT, f"{text}\n")
    if json:
        show_json(document)
    else:
        show(as_rich(sweep_page(read, found, purse)))
    raise typer.Exit(code)


_CAP_KEYS = tuple(f"run.{cap}" for cap in CAPS)


def _with_caps(grid: Grid, wishes: Wishes) -> Grid:
    """The grid with the caps of the command line in the place of its own."""
    given = {key: limit for key, limit in wishes.flags.items() if key in _CAP_KEYS}
    run = resolve(list(flag_layers(given))).config.run
    said = {cap: limit for cap in CAPS if (limit := getattr(run, cap)) is not None}
    return replace(grid, caps=grid.caps.model_copy(update=said))


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Hold the sweep's folder for this process.

    Raises:
        RunLocked: another process carries it out.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
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
        order = Order(config, environment)
        if (trial.folder / CONFIG).is_file():
            carry_out(trial.folder, order, train_session, as_json=False)
            return
        with new_folder(config, trial.run_id, datetime.now().astimezone()) as folder:
            carry_out(folder, order, train_session, as_json=False)


@dataclass(frozen=True, slots=True)
class _Told:
    """Says on stderr what happens to the runs of a sweep."""

    grid: Grid

    def kept(self, runs: int) -> None:
        verb = "is" if runs == 1 else "are"
        typer.echo(f"[sweep {self.grid.name}] {count(runs, 'run')} {verb} finished", err=True)

    def run(self, what: str, trial: Trial, view: RunView, message: str = "") -> None:
        settings = words(trial, self.grid.axes)
        line = f"[sweep {self.grid.name}] {what} {trial.run_id} ({settings})"
        base = view.baseline.value if view.baseline else None
        if what == "finished":
            before, best = pair(base, view.standing.best)
            line += f": selection {before} -> {best}"
        typer.echo(f"{line}: {message}" if message else line, err=True)


def _exit_code(found: Standings) -> int:
    """Interrupted and caps first, then the first run that failed; 10 where none improved."""
    if found.outcome.interrupted:
        return Interrupted.exit_code
    if found.outcome.short:
        return BudgetExhausted.exit_code
    for failed in found.outcome.failures.values():
        return failed.code if failed.code > 0 else SkillOptError.exit_code
    codes = [view.ending.exit_code for r in found.results if (view := r.view).ending]
    if codes and all(code == NoImprovement.exit_code for code in codes):
        return NoImprovement.exit_code
    return 0
