"""`skillopt plan`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from skillopt_cli.cli.options import BenchmarkArgument, JsonOption
from skillopt_cli.cli.output import show_json, show_table
from skillopt_cli.cli.run_flags import EVERY, with_run_flags
from skillopt_cli.compose.flags import in_shell
from skillopt_cli.compose.own_tasks import inferred_line
from skillopt_cli.compose.privilege import privilege_lines, privilege_rows
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.run_folder import find_run
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.compose.trust import refusal, required, unapproved
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import UsageError
from skillopt_cli.planning.forecast import Assumptions
from skillopt_cli.planning.plan_from_run import earlier_run
from skillopt_cli.planning.plan_notes import plan_notes
from skillopt_cli.planning.plan_text import plan_document, plan_rows
from skillopt_cli.planning.planner import plan_run
from skillopt_cli.runlog.run_log import read_view


def _share(help: str) -> Any:
    return typer.Option(metavar="<float>", help=help, callback=_check_share)


def _check_share(option: typer.CallbackParam, value: float | None) -> float | None:
    if value is not None and not 0 <= value <= 1:
        raise UsageError(
            f"`{option.opts[0]}` must be from 0 to 1, not {value:g}", "give a share such as 0.5"
        )
    return value


AccuracyOption = Annotated[
    float | None,
    _share("Assumed share of train tasks that the seed solves, 0 to 1. Default: unknown."),
]
BestStepOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="<int>",
        help="Assumed last step with a new best skill, 0 for none. Default: unknown.",
    ),
]
UnchangedOption = Annotated[
    float | None,
    _share("Assumed share of candidates and guidance that equal the skill. Default: 0."),
]
MeasuredOption = Annotated[
    float | None,
    _share(
        "Assumed share of selection tasks measured of a text, with early rejection. Default: 0.7,"
        " or 0.96 where edits are verified."
    ),
]
TrialsOption = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        metavar="<float>",
        help="Assumed attempts that verify a step's edits, per failed task of it.",
    ),
]
LastStepOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="<int>",
        help="Assumed step after which all tasks are solved. Default: none.",
    ),
]
LatencyOption = Annotated[
    float | None,
    typer.Option(
        min=0.001,
        metavar="<float>",
        help="Assumed seconds per model call. Default: 2 of a service; a local backend's own.",
    ),
]
LikeOption = Annotated[
    str | None,
    typer.Option(help="Run folder or run id to take all these from, and tokens per call."),
]


@with_run_flags(*EVERY)
def plan(
    *,
    benchmark: BenchmarkArgument = None,
    accuracy: AccuracyOption = None,
    best_step: BestStepOption = None,
    unchanged: UnchangedOption = None,
    measured: MeasuredOption = None,
    trials: TrialsOption = None,
    last_step: LastStepOption = None,
    latency: LatencyOption = None,
    like: LikeOption = None,
    json: JsonOption = False,
    overrides: Overrides,
) -> None:
    """Print what a training takes and costs; no model is called.

    Takes every flag of `train`. Counts are by the rules that the run itself follows; what cannot be
    known before is given as a range.
    """
    environment = read_environment()
    # Neither address nor key is needed where no call is made.
    resolved = settle(replace(overrides, roles=()), environment)
    config = resolved.config
    if not config.env.name:
        settle(replace(overrides, example="skillopt plan searchqa"), environment)
    given = Assumptions(
        accuracy, best_step, unchanged, measured, latency, trials=trials, last_step=last_step
    )
    earlier = None
    if like is not None:
        folder = find_run(like, Path(config.env.out_root))
        earlier = earlier_run(folder, read_view(folder), config.env.name)
    made = plan_run(RunRequest(config, environment), given, earlier=earlier)
    asked = required(overrides, resolved, environment)
    if json:
        show_json(plan_document(made) | {"privileges": privilege_rows(asked)})
        return
    if line := inferred_line(config, resolved.sources, resolved.unused):
        typer.echo(in_shell(line), err=True)
    show_table(("", "likely", "range"), plan_rows(made))
    for note in plan_notes(made):
        typer.echo(in_shell(note))
    for line in privilege_lines(asked):
        typer.echo(line)
    if lacking := unapproved(asked):
        refused = refusal(lacking)
        typer.echo(refused.message)
        typer.echo(f"hint: {in_shell(refused.hint)}")
