"""`skillopt resume`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.cli.options import AllowDrift, JsonOption
from skillopt_cli.cli.running import carry_out
from skillopt_cli.cli.show import show_json
from skillopt_cli.cli.tapes import RecordOption, ReplayOption, settled, taped
from skillopt_cli.cli.train import foretell, show_result
from skillopt_cli.cli.wishes import EVERY, FILES, with_run_flags
from skillopt_cli.compose.build import Order, composed
from skillopt_cli.compose.folder import CONFIG, MANIFEST, find_run
from skillopt_cli.compose.manifest import binding, config_drift, read_manifest, refuse_drift
from skillopt_cli.compose.planning import Progress
from skillopt_cli.compose.settings import Wishes
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.caps import Use
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.events import RunFinished
from skillopt_cli.engine.session import train_session
from skillopt_cli.ui.reading import read_view
from skillopt_cli.ui.summary import summarise


@with_run_flags(*(flag for flag in EVERY if flag not in FILES))
def resume(
    *,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run folder, or run id.")],
    allow_drift: AllowDrift = False,
    record: RecordOption = None,
    replay: ReplayOption = None,
    json: JsonOption = False,
    wishes: Wishes,
) -> None:
    """Take up a run where it stopped.

    Nothing that was journaled is paid for again. Settings of `run.*` may change freely; anything
    else that can alter a text or a score needs --allow-drift.
    """
    environment = read_environment()
    if wishes.config or wishes.preset:
        raise UsageError(
            "a resumed run keeps its own configuration", "change single settings with --set"
        )
    folder = find_run(run, Path(str(wishes.flags.get("env.out_root", "outputs"))))
    view = read_view(folder)
    if view.run is not None and not view.run.total_steps:
        raise UsageError(
            f"{folder} is an evaluation, which cannot be resumed", "run `skillopt eval` again"
        )
    resolved = settled(replace(wishes, config=folder / CONFIG), environment, replay)
    config = resolved.config
    order = Order(config, environment, sources=resolved.sources, allow_drift=allow_drift)
    order = taped(order, record, replay, carry_on=True)
    if isinstance(view.ending, RunFinished) and not allow_drift:
        refuse_drift(config_drift(read_manifest(folder / MANIFEST), binding(config)))
        typer.echo(f"{folder} is finished: nothing to do", err=True)
        if record is not None:
            with composed(folder, order):
                typer.echo(f"{record} is written from its journal", err=True)
        code, summary = view.ending.exit_code, summarise(view)
        if json:
            show_json({"summary": summary})
    else:
        used = Use(view.ledger, view.wall_time / 60)
        progress = Progress(view.done if view.saved else None, used)
        foretell(order, progress, as_json=json)
        code, summary = carry_out(folder, order, train_session, as_json=json)
    if not json:
        show_result(folder, summary)
    raise typer.Exit(code)
