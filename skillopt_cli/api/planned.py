"""Evaluations that their run folder describes: a comparison of arms, a pruning, or answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from skillopt_cli.api.calls import Observer, execute
from skillopt_cli.compose.eval_plan import EvalPlan, write_evaluation
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.core.companion_files import no_longer_named
from skillopt_cli.core.events import SkillPruned
from skillopt_cli.core.run_verdict import VerdictRule
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt
from skillopt_cli.engine.session import Session, answer_session, compare_session, prune_session
from skillopt_cli.engine.verdict import against_majority
from skillopt_cli.reports.arms import arms_document, task_rows
from skillopt_cli.reports.export.answers import AnswerRow, answer_rows, csv_of_answers
from skillopt_cli.reports.task_lint import lint_document
from skillopt_cli.runlog.pruning import pruned_document
from skillopt_cli.runlog.run_log import RunLog
from skillopt_cli.store.atomic_files import replace_bytes, replace_folder, replace_text
from skillopt_cli.store.layout import ANSWERS


async def measure_plan(
    folder: Path, request: RunRequest, plan: EvalPlan, on_event: Observer | None
) -> None:
    """Carry out the evaluation that a run folder describes, or what is left of it."""
    if plan.pruned:
        pruned = await execute(folder, planned(request, plan), prune_session, on_event)
        keep_pruned(folder, plan, pruned.skill)
        return
    if not plan.scored:
        answering = partial(answered, plan=plan, rows=[])
        await execute(folder, planned(request, plan), answering, on_event)
        return
    work = partial(compared, plan=plan)
    write_evaluation(folder, await execute(folder, planned(request, plan), work, on_event))


def planned(request: RunRequest, plan: EvalPlan) -> RunRequest:
    """The request of an evaluation that its run folder describes, which can be taken up."""
    first = plan.arms[0]
    named = f"the arms {', '.join(plan.skills)}" if len(plan.arms) > 1 else first.given
    others = tuple(arm.skill for arm in plan.arms[1:])
    return replace(
        request,
        measured=plan.split,
        skill=first.skill,
        arms=others,
        skill_from=named,
        resumable=True,
    )


async def answered(session: Session, plan: EvalPlan, rows: list[AnswerRow]) -> None:
    """Answer all tasks with the skill of a session, and write the table of answers.

    Args:
        rows: gets a row for each task, as the table has them, where any was attempted.
    """
    run = session.run
    prompts = {task.id: run.hide(run.benchmark.brief(task).prompt) for task in run.tasks("all")}

    def keep(made: Mapping[str, Attempt]) -> None:
        found = list(answer_rows(prompts, made))
        lines = (json.dumps(row, ensure_ascii=False) for row in found)
        run.keep(ANSWERS, "".join(f"{line}\n" for line in lines))
        write_answers(found, plan)
        rows[:] = found

    await answer_session(session, keep)


def write_answers(rows: Sequence[AnswerRow], plan: EvalPlan) -> None:
    """Write the table of answers to the file of the plan, if it has one.

    Raises:
        DataError: the disk is full or the folder not writable.
    """
    if plan.out:
        replace_bytes(Path(plan.out), csv_of_answers(rows))


async def compared(session: Session, plan: EvalPlan) -> dict[str, Any]:
    """Measure the arms of a plan; the content of `eval_summary.json`."""
    run = session.run
    results = await compare_session(session, plan.skills, plan.split, plan.repeats)
    marks = {name: found.averaged.marks for name, found in results.items()}
    rule = VerdictRule(run.metric, run.rule.min_coverage)
    majority = await against_majority(run, plan.split, marks, plan.repeats)
    run.keep("tasks.jsonl", "".join(task_rows(results, run.tasks(plan.split))))
    return {
        "benchmark": run.benchmark.name,
        "target": session.started.target,
        **({"judge": session.started.judge} if session.started.judge else {}),
        "data": session.started.data,
        "split": plan.split,
        "repeats": plan.repeats,
        "given": {arm.name: arm.given for arm in plan.arms},
        **arms_document(results, rule, plan.split, majority, plan.used),
        **({"lint": lint_document(run, results)} if plan.lint else {}),
    }


def keep_pruned(folder: Path, plan: EvalPlan, skill: SkillDocument) -> SkillPruned:
    """Write a pruned skill, without our marks, and `eval_summary.json`; returns what was pruned."""
    path = Path(plan.pruned)
    (arm,) = plan.arms
    text = skill.shipped()
    if skill.folder is not None:
        replace_folder(path, replace(skill, text=text))
    else:
        replace_text(path, text)
    event = RunLog(folder).read().view.pruned
    assert event is not None
    unnamed = no_longer_named(skill.folder, arm.skill.text, text) if skill.folder else ()
    document = pruned_document(event) | {"files_unnamed": list(unnamed), "file": plan.pruned}
    write_evaluation(folder, {"skill": arm.given} | document)
    return event
