"""Pruning a skill from Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from skillopt_cli.api.arguments import checked
from skillopt_cli.api.calls import Observer, blocking, overrides
from skillopt_cli.api.planned import measure_plan
from skillopt_cli.api.result import RunResult, load_run
from skillopt_cli.compose.eval_plan import Arm, EvalPlan, write_plan
from skillopt_cli.compose.request import run_request
from skillopt_cli.compose.run_folder import new_folder, run_of
from skillopt_cli.compose.seed_skill import read_skill
from skillopt_cli.config.environment import read_environment
from skillopt_cli.reports.diff.named_skill import skill_path
from skillopt_cli.store.atomic_files import check_replaceable_folder, check_vacant

EXAMPLE = "skillopt prune FILE searchqa"


@checked
async def prune_async(
    skill: str | Path,
    benchmark: str | None = None,
    *,
    out: str | Path | None = None,
    config: str | Path | None = None,
    preset: str = "",
    settings: Mapping[str, object] | None = None,
    run_id: str | None = None,
    trust: bool = False,
    on_event: Observer | None = None,
    **flags: object,
) -> RunResult:
    """Remove what a skill does not need and return the result, as `skillopt prune` does.

    Its `pruned` has every block that was tried; the skill itself stays as it is.

    Args:
        skill, benchmark: as of `evaluate`.
        out: the pruned skill; None for `NAME.pruned` beside the skill.
        config, preset, settings, run_id, trust, on_event, flags: as of `train`.

    Raises:
        UsageError: there is no such skill, or `out` exists.
        Indecisive: too few attempts could be scored to compare anything.
        SkillOptError: as `train` does.
    """
    made = replace(overrides(benchmark, config, preset, settings, flags), trust=trust)
    path = skill_path(str(skill), made.out_root)
    target = pruned_path(path, Path(out) if out is not None else None)
    plan = prune_plan(str(skill), path, target)
    if plan.arms[0].skill.folder is None:
        check_vacant(target)
    else:
        check_replaceable_folder(target, force=False)
    request = run_request(made.measuring(run_of(path), EXAMPLE), read_environment())
    now = datetime.now().astimezone()
    with new_folder(request.config, run_id, now) as folder:
        write_plan(folder, plan)
        await measure_plan(folder, request, plan, on_event)
    return load_run(folder)


prune = blocking(prune_async)


def pruned_path(path: Path, out: Path | None) -> Path:
    """Where the pruned skill goes: `out`, or a name beside the skill."""
    return out or path.with_name(f"{path.stem}.pruned{path.suffix}")


def prune_plan(given: str, path: Path, target: Path) -> EvalPlan:
    """The plan of a pruning.

    Args:
        given: the skill, as the user named it; its file or folder is `path`.
        target: where the pruned skill goes.

    Raises:
        UsageError, DataError: the skill cannot be read.
    """
    arm = Arm("skill", given, read_skill(path))
    return EvalPlan((arm,), "selection", pruned=str(target.absolute()))
