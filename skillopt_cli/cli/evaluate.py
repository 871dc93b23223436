"""`skillopt eval`."""

from __future__ import annotations

import json as jsonlib
from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from skillopt_cli.cli.diff_skills import by_id
from skillopt_cli.cli.options import BenchmarkArgument, JsonOption, RunId
from skillopt_cli.cli.running import carry_out
from skillopt_cli.cli.show import show_json
from skillopt_cli.cli.tapes import RecordOption, ReplayOption, settled, taped
from skillopt_cli.cli.wishes import FILES, MEASURING, with_run_flags
from skillopt_cli.compose.build import Order
from skillopt_cli.compose.folder import CONFIG, EVALUATION, new_folder, run_of
from skillopt_cli.compose.settings import Wishes
from skillopt_cli.compose.skill_init import read_skill
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.score import Measured
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import SPLITS, Split
from skillopt_cli.engine.session import Session, evaluate_session
from skillopt_cli.store.files import replace_text
from skillopt_cli.ui.diff import named_skill
from skillopt_cli.ui.words import score

EXAMPLE = "skillopt eval searchqa --skill FILE"


@with_run_flags(*FILES, *MEASURING)
def evaluate(
    *,
    benchmark: BenchmarkArgument = None,
    skill: Annotated[
        str | None,
        typer.Option("--skill", help="Skill file or folder, run, or RUN:best, RUN:seed, RUN:3."),
    ] = None,
    split: Annotated[str, typer.Option(help="train, selection or test.")] = "test",
    run_id: RunId = None,
    record: RecordOption = None,
    replay: ReplayOption = None,
    json: JsonOption = False,
    wishes: Wishes,
) -> None:
    """Measure one skill on one split.

    Benchmark and settings come from the run folder that holds the skill, unless BENCHMARK or
    --config says otherwise.
    """
    chosen = _split(split)
    environment = read_environment()
    out_root = Path(str(wishes.flags.get("env.out_root", "outputs")))
    path = _skill_file(skill, out_root, bool(wishes.flags.get("env.from_scratch")))
    document = read_skill(path) if path else SkillDocument("")
    home = run_of(path) if path and not (benchmark or wishes.config) else None
    if home is not None:
        wishes = replace(wishes, config=home / CONFIG)
    wishes = replace(wishes, roles=("target",), example=EXAMPLE)
    resolved = settled(wishes, environment, replay)
    config = resolved.config
    source = str(path) if path else ""
    order = Order(config, environment, sources=resolved.sources, skill=document, skill_from=source)
    order = taped(order, record, replay)

    async def work(session: Session) -> dict[str, Any]:
        measured = await evaluate_session(session, chosen)
        return _result(session, measured, chosen, skill or "")

    now = datetime.now().astimezone()
    with new_folder(config, run_id, now, training=False) as folder:
        result, _ = carry_out(folder, order, work, as_json=False)
        written = jsonlib.dumps(result, ensure_ascii=False, indent=2)
        replace_text(folder / EVALUATION, f"{written}\n")
    if json:
        show_json(result)
    else:
        _show(folder, result)


def _split(name: str) -> Split:
    if name not in SPLITS:
        raise UsageError(f"there is no split `{name}`", f"splits: {', '.join(SPLITS)}")
    return name


def _skill_file(name: str | None, out_root: Path, from_scratch: bool) -> Path | None:
    """The file of the skill to measure, None for no skill."""
    if name is not None and from_scratch:
        raise UsageError("--skill and --from-scratch exclude each other", "give one of the two")
    if from_scratch:
        return None
    if name is None:
        raise UsageError("no skill is named", "add --skill FILE, or --from-scratch for no skill")
    try:
        return named_skill(by_id(name, out_root)).path
    except UsageError as error:
        raise UsageError(error.message, f"{error.hint}; --from-scratch for no skill") from None


def _result(session: Session, measured: Measured, split: Split, skill: str) -> dict[str, Any]:
    kinds: dict[str, dict[str, Any]] = defaultdict(dict)
    for task in session.run.splits[split]:
        kinds[task.kind][task.id] = measured.marks[task.id]
    return {
        "skill": skill,
        "skill_digest": measured.skill.digest,
        "benchmark": session.run.benchmark.name,
        "target": session.started.target,
        **({"judge": session.started.judge} if session.started.judge else {}),
        "data": session.run.benchmark.source,
        "split": split,
        "n_items": measured.n,
        "scored": measured.scored,
        "coverage": measured.coverage,
        "hard": measured.hard,
        "soft": measured.soft,
        "task_types": {
            kind: {"total": part.n, "scored": part.scored, "hard": part.hard, "soft": part.soft}
            for kind, marks in sorted(kinds.items())
            if (part := Measured(measured.skill, marks))
        },
    }


def _show(folder: Path, result: dict[str, Any]) -> None:
    typer.echo(
        f"{result['split']}: hard {score(result['hard'])}, soft {score(result['soft'])}"
        f" (n={result['n_items']}, scored {result['scored']})"
    )
    for kind, part in result["task_types"].items():
        typer.echo(f"  {kind}: hard {score(part['hard'])} (n={part['total']})")
    typer.echo(f"details: {folder}")
