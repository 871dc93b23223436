"""`skillopt eval`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from skillopt_cli.api.arguments import known_split
from skillopt_cli.api.arms import arm_names, read_arms
from skillopt_cli.api.evaluation import EXAMPLE, evaluation_document
from skillopt_cli.cli.execute import execute, note_unused_settings, warn_of_long_skills
from skillopt_cli.cli.options import (
    BenchmarkArgument,
    JsonOption,
    RecordOption,
    ReplayOption,
    RunId,
    SkillOption,
)
from skillopt_cli.cli.output import show_json
from skillopt_cli.cli.run_flags import FILES, MEASURING, with_run_flags
from skillopt_cli.compose.benchmark import open_benchmark
from skillopt_cli.compose.eval_plan import EvalPlan, write_evaluation
from skillopt_cli.compose.measured_tasks import measured_note
from skillopt_cli.compose.request import RunRequest, run_request
from skillopt_cli.compose.run_folder import find_run, new_folder, run_of
from skillopt_cli.compose.seed_skill import read_skill
from skillopt_cli.compose.settings import Overrides
from skillopt_cli.compose.training_tasks import trained_in, training_tasks
from skillopt_cli.config import RunConfig
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import TaskSet
from skillopt_cli.engine.session import Session, evaluate_session
from skillopt_cli.ports import Benchmark
from skillopt_cli.reports.diff.named_skill import skill_path
from skillopt_cli.runlog.text.format import score


@with_run_flags(*FILES, *MEASURING)
def evaluate(
    *,
    benchmark: BenchmarkArgument = None,
    skill: SkillOption = None,
    split: Annotated[str, typer.Option(help="train, selection, test, or `all` three.")] = "test",
    arms: Annotated[
        str | None,
        typer.Option(
            "--arms",
            metavar="<str>",
            help="Compare skills in one pass: none, seed, best, 3 (of the run of --skill), any"
            " skill, NAME=SKILL.",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Attempts at each task.")] = 1,
    targets: Annotated[
        str | None,
        typer.Option(
            "--targets",
            metavar="<str>",
            help="Compare with several target models: MODEL or BACKEND:MODEL, with commas.",
        ),
    ] = None,
    lint: Annotated[
        bool, typer.Option("--lint", help="Report tasks that show no difference, and leaks.")
    ] = False,
    run_id: RunId = None,
    record: RecordOption = None,
    replay: ReplayOption = None,
    json: JsonOption = False,
    overrides: Overrides,
) -> None:
    """Measure one skill on one split, or several on the same tasks.

    Benchmark and settings come from the run folder that holds the skill, unless BENCHMARK or
    --config is given. With --arms or --repeats every attempt is made in one pass, the arms in turn,
    and `skillopt resume` takes it up where it stopped.
    """
    chosen = known_split(split)
    scratch = bool(overrides.flags.get("env.from_scratch"))
    if benchmark and skill is None and arms is None and not scratch:
        _refuse_run(benchmark, overrides.out_root)
    path = skill_file(skill, overrides.out_root, scratch, needed=arms is None)
    listed = arms.split(",") if arms is not None else None
    several = arms is not None or targets is not None or repeats > 1 or lint
    names = arm_names(listed, path, overrides.out_root) if several else None
    home = names.home if names else run_of(path) if path else None
    overrides = overrides.measuring(home, EXAMPLE)
    models = _models(targets)

    def plan(config: RunConfig, opened: Benchmark) -> EvalPlan:
        assert names is not None
        _note(home, overrides, config, opened, chosen)
        used = training_tasks(config, opened, chosen, names.trained_in)
        read = read_arms(names, config, opened)
        return EvalPlan(read, chosen, repeats, models, lint, used=used)

    if models:
        from skillopt_cli.cli.targets import compare_targets

        _refuse_recording(record or replay)
        compare_targets(overrides, run_id, plan, json=json)
        return
    request = run_request(overrides, read_environment(), record, replay)
    if names is not None:
        from skillopt_cli.cli.arms import compare

        compare(request, run_id, plan, json=json)
        return
    opened = open_benchmark(request.config)
    _note(home, overrides, request.config, opened, chosen)
    request = replace(with_skill(request, path), measured=chosen, benchmark=opened)
    used = training_tasks(request.config, opened, chosen, (trained_in(path),))

    async def work(session: Session) -> dict[str, Any]:
        measured = await evaluate_session(session, chosen)
        return await evaluation_document(session, measured, chosen, skill or "", used)

    _measure(request, run_id, work, json=json)


def _measure(
    request: RunRequest,
    run_id: str | None,
    work: Callable[[Session], Awaitable[dict[str, Any]]],
    *,
    json: bool,
) -> None:
    """Measure one skill in a new run folder, and write and show the result."""
    with new_folder(request.config, run_id, datetime.now().astimezone()) as folder:
        result, _ = execute(folder, request, work, as_json=False)
        write_evaluation(folder, result)
    _show(folder, result, json=json)


def _note(
    home: Path | None,
    overrides: Overrides,
    config: RunConfig,
    opened: Benchmark,
    chosen: TaskSet,
) -> None:
    note_unused_settings(home, overrides, config)
    if said := measured_note(config, opened, chosen, home):
        typer.echo(f"Note: {said}", err=True)


def with_skill(request: RunRequest, path: Path | None) -> RunRequest:
    """The request with the skill to measure; a warning is printed where that is long."""
    document = read_skill(path) if path else SkillDocument("")
    warn_of_long_skills(request, {f"the skill {path}": document})
    return replace(request, skill=document, skill_from=str(path) if path else "")


def _models(targets: str | None) -> tuple[str, ...]:
    """The models that --targets lists, if it is given."""
    if targets is None:
        return ()
    from skillopt_cli.cli.targets import target_names

    return target_names(targets)


def _refuse_recording(recording: Path | None) -> None:
    """Refuse a recording of several targets."""
    if recording is not None:
        raise UsageError(
            "a recording holds the calls of one run, and --targets makes several",
            "record or replay an evaluation with one target",
        )


def _refuse_run(name: str, out_root: Path) -> None:
    """Refuse a run in the place of the benchmark, where no skill is named."""
    try:
        find_run(name, out_root)
    except UsageError:
        return
    raise UsageError(
        f"no skill is named, and `{name}` is a run", f"did you mean `--skill {name}:best`?"
    )


def skill_file(
    name: str | None, out_root: Path, from_scratch: bool, *, needed: bool
) -> Path | None:
    """The file of the skill to measure, None for no skill.

    Args:
        needed: whether there is nothing to measure without one.
    """
    if name is not None and from_scratch:
        raise UsageError("--skill and --from-scratch exclude each other", "give one of the two")
    if from_scratch or (name is None and not needed):
        return None
    if name is None:
        raise UsageError("no skill is named", "add --skill FILE, or --from-scratch for no skill")
    try:
        return skill_path(name, out_root)
    except UsageError as error:
        raise UsageError(error.message, f"{error.hint}; --from-scratch for no skill") from None


def _show(folder: Path, result: dict[str, Any], *, json: bool) -> None:
    if json:
        show_json(result)
        return
    typer.echo(
        f"{result['split']}: hard {score(result['hard'])}, soft {score(result['soft'])}"
        f" (n={result['n_items']}, scored {result['scored']})"
    )
    for kind, part in result["task_types"].items():
        typer.echo(f"  {kind}: hard {score(part['hard'])} (n={part['total']})")
    for sentence in result.get("majority_baseline", {"sentences": ()})["sentences"]:
        typer.echo(sentence)
    if warning := result.get("warning"):
        typer.echo(warning)
    typer.echo(f"details: {folder}")
