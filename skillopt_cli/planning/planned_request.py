"""The request of a training with its plan made."""

from __future__ import annotations

from dataclasses import replace

from skillopt_cli.compose.benchmark import open_benchmark
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.core.errors import SkillOptError
from skillopt_cli.planning.plan_text import short_lines
from skillopt_cli.planning.planner import plan_run
from skillopt_cli.planning.progress import Progress


def with_plan(
    request: RunRequest, progress: Progress | None = None
) -> tuple[RunRequest, list[str]]:
    """The request with its schedule and the benchmark that was opened for it, and its plan.

    The plan is lines for people. There is none of a replay, nor where the run itself will meet a
    fault and tell of it.

    Args:
        progress: how far the run has come; None for a new one.
    """
    if request.replay is not None:
        return request, []
    try:
        opened = replace(request, benchmark=open_benchmark(request.config))
        made = plan_run(opened, progress=progress)
        return replace(opened, schedule=made.schedule), list(short_lines(made))
    except SkillOptError:
        return request, []
    # Nor does a bug, a plug-in's mostly, stop the run, which leaves a traceback in its folder.
    except Exception as error:
        return request, [f"Plan: none could be made ({type(error).__name__})"]
