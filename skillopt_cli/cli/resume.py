"""`skillopt resume`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from skillopt_cli.cli.execute import execute, nothing_to_do
from skillopt_cli.cli.options import AllowDrift, JsonLinesOption, RecordOption, ReplayOption
from skillopt_cli.cli.output import show_json
from skillopt_cli.cli.run_flags import EVERY, FILES, with_run_flags
from skillopt_cli.cli.train import end_training, print_plan, show_result
from skillopt_cli.compose.eval_plan import read_plan
from skillopt_cli.compose.fingerprint import check_given, settings_changed
from skillopt_cli.compose.replaying import refuse_live
from skillopt_cli.compose.request import RunRequest, run_request
from skillopt_cli.compose.run_folder import find_run
from skillopt_cli.compose.settings import Overrides
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import RunLocked, UsageError
from skillopt_cli.core.events import Role, RunFinished
from skillopt_cli.engine.session import train_session
from skillopt_cli.planning.progress import Progress
from skillopt_cli.runlog.run_log import RunLog
from skillopt_cli.runlog.summary import summarise
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.layout import CONFIG, EVAL_PLAN
from skillopt_cli.store.lock import lock_run


@with_run_flags(*(flag for flag in EVERY if flag not in FILES))
def resume(
    *,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run folder, or run id.")],
    allow_drift: AllowDrift = False,
    record: RecordOption = None,
    replay: ReplayOption = None,
    json: JsonLinesOption = False,
    overrides: Overrides,
) -> None:
    """Continue a run where it stopped.

    Nothing that was journaled is paid for again. Settings of `run.*` may change freely; anything
    else that can alter a text or a score needs --allow-drift.
    """
    if overrides.config or overrides.preset:
        raise UsageError(
            "a resumed run keeps its own configuration", "change single settings with --set"
        )
    folder = _folder_of(run, overrides.out_root)
    overrides = replace(overrides, run_folder=folder)
    log = RunLog(folder).read()
    view = log.view
    planned = (folder / EVAL_PLAN).is_file()
    if view.run is not None and not view.run.total_steps and not planned:
        raise UsageError(
            f"{folder} is an evaluation, which cannot be resumed", "run its command again"
        )
    if planned and not (folder / CONFIG).is_file():
        from skillopt_cli.cli.targets import resume_targets

        resume_targets(folder, overrides, json=json)
        return
    plan = read_plan(folder) if planned else None
    measured = plan is None or (folder / plan.result).is_file()
    done = isinstance(view.ending, RunFinished) and measured and not allow_drift
    if not done:
        refuse_live(folder, view.run, replay)
    # What has nothing to do needs no model.
    roles: tuple[Role, ...] = () if done else ("target",) if planned else overrides.roles
    scored = plan is None or plan.scored
    overrides = replace(overrides, config=folder / CONFIG, roles=roles, scored=scored)
    request = run_request(overrides, read_environment(), record, replay, resumed=True)
    request = replace(request, allow_drift=allow_drift, log=log)
    if done:
        check_given(folder, request.config, request.sources)
    if plan is not None:
        from skillopt_cli.cli.arms import resume_evaluation

        resume_evaluation(folder, request, plan, json=json)
        return
    if done and isinstance(view.ending, RunFinished):
        nothing_to_do(folder, request)
        code, summary = view.ending.exit_code, summarise(view)
        if json:
            show_json({"summary": summary})
    else:
        code, summary = _go_on(run, folder, request, view, as_json=json)
    if not json:
        show_result(folder, summary)
    end_training(code)


def _go_on(
    run: str, folder: Path, request: RunRequest, view: RunView, *, as_json: bool
) -> tuple[int, dict[str, Any]]:
    """Train on, with the plan of what is left first; the exit code and the summary."""
    with _naming_the_pause(run, paused=view.steering.paused is not None):
        # A resume that is refused needs no plan.
        with lock_run(folder):
            changed = settings_changed(folder, request.config)
        if request.allow_drift or not changed:
            request = print_plan(request, Progress.of(view), as_json=as_json)
        return execute(folder, request, train_session, as_json=as_json)


@contextmanager
def _naming_the_pause(run: str, *, paused: bool) -> Iterator[None]:
    """Name the command that goes on with a run that another process holds, where it is paused."""
    try:
        yield
    except RunLocked as error:
        if not paused:
            raise
        goes_on = f"it is paused: `skillopt ctl {run} resume` goes on"
        raise RunLocked(error.message, goes_on) from None


def _folder_of(run: str, out_root: Path) -> Path:
    """The folder of a run.

    Raises:
        UsageError: there is no such run; the error of a sweep's name has the sweep's command.
    """
    try:
        return find_run(run, out_root)
    except UsageError:
        from skillopt_cli.sweeps.command import refuse_sweep

        refuse_sweep(run, out_root)
        raise
