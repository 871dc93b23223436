"""The leak guard in a run: what it reads, where refused edits go, and what analysts are shown."""

from __future__ import annotations

import json

import pytest

from skillopt_cli.core.edit_counts import why_no_edits
from skillopt_cli.core.edits import Candidate, Edit, Patch, Rewrite
from skillopt_cli.core.epoch_pairs import Pair
from skillopt_cli.core.events import CandidateMade, Degraded, StepSkipped
from skillopt_cli.core.labels import Labels
from skillopt_cli.core.score import Private, Score, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Reflection
from skillopt_cli.core.task import Attempt
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.loop import train
from skillopt_cli.stages.leak_check import checked_guidance, checked_rewrite, guarded, train_labels
from skillopt_cli.stages.prompt_text import labels_text, quoting_text
from skillopt_cli.stages.run import Comparison
from skillopt_cli.testing import EventLog, FunctionChat, Toy, toy_run

SEED = SkillDocument("# Questions\n\nAnswer from the text.\n")
CHECKER = "the answer must hold the word lighthouse and a year between 1800 and 1900"


def answer(edits: list[dict[str, object]]) -> FunctionChat:
    """An optimizer whose analysts propose these edits."""
    return FunctionChat(lambda request: json.dumps({"reasoning": "", "edits": edits}))


def first_task_text(run) -> str:
    return run.benchmark.brief(run.splits["train"][0]).sections[0].text


def step_one(*settings: str):
    run = toy_run(Toy(settings=("train.batch_size=24", *settings)))
    return run.at(run.plan.step(1))


def failed(run, private: str = "") -> list[Trajectory]:
    return [
        Trajectory(task, Attempt("x"), Score(0.0, 0.0, "", private=Private(private)))
        for task in run.splits["train"][:4]
    ]


def refused(run, content: str, private: str = "") -> list[str]:
    reflection = Reflection((Patch((Edit("append", content),)),), asked=1)
    [patch] = guarded(run, SEED, failed(run, private), reflection).patches
    return [outcome.state for outcome in patch.set_aside]


def test_a_passage_of_a_task_and_one_of_its_checker_are_refused() -> None:
    run = step_one()
    assert refused(run, first_task_text(run)) == ["leak"]
    assert refused(run, f"Remember: {CHECKER}.", CHECKER) == ["leak"]
    assert refused(run, f"Remember: {CHECKER}.") == []


def test_worked_examples_of_a_model_are_refused_unless_the_setting_allows_them() -> None:
    for settings, states in (((), ["leak"]), (("optimizer.worked_examples=true",), [])):
        run = step_one(*settings)
        task = run.splits["train"][0]
        text = f"<!-- worked example: {task.id} -->\n{first_task_text(run)}"
        assert refused(run, text) == states


def test_a_rewritten_text_that_leaks_is_refused_as_a_whole() -> None:
    run = step_one()
    leaking = SkillDocument(f"{SEED.text}\n{first_task_text(run)}\n")
    made = Candidate(leaking, (), Rewrite(leaking.text))
    checked = checked_rewrite(run, SEED, made)
    assert checked.skill == SEED
    assert checked.refused.startswith("leak: it carries a passage of task `")
    honest = Candidate(SkillDocument("# Q\n\nBe short.\n"), (), Rewrite("# Q\n\nBe short.\n"))
    assert checked_rewrite(run, SEED, honest) == honest


async def test_a_step_whose_edits_all_leak_is_skipped_and_the_report_shows_them() -> None:
    log, leak = EventLog(), first_task_text(step_one())
    toy = Toy(
        settings=("train.batch_size=24", "train.num_epochs=1", "optimizer.use_slow_update=false"),
        target=FunctionChat(lambda request: "nothing"),
        optimizer=answer([{"op": "append", "content": leak, "support": 2}]),
    )
    run = toy_run(toy, observers=[Subscriber("log", log)])
    await train(run, SEED)
    [made] = log.of(CandidateMade)
    assert {outcome.state for outcome in made.outcomes} == {"leak"}
    assert all("task `" in outcome.reason for outcome in made.outcomes)
    [skipped] = log.of(StepSkipped)
    assert skipped.counts is not None
    assert skipped.counts.cause == "leaked"
    n = len(made.outcomes)
    assert why_no_edits(skipped.counts) == f"{n} edits proposed, the leak guard refused every one"


def test_guidance_that_leaks_is_refused_and_announced() -> None:
    log = EventLog()
    run = toy_run(Toy(), observers=[Subscriber("log", log)])
    [trajectory, *_] = failed(run)
    pair = Pair(trajectory, trajectory)
    comparison = Comparison(2, SEED, SEED, (pair,), ())
    assert checked_guidance(run, comparison, "Read the whole text first.") is not None
    assert checked_guidance(run, comparison, None) is None
    assert log.of(Degraded) == []
    assert checked_guidance(run, comparison, first_task_text(run)) is None
    [degraded] = log.of(Degraded)
    assert degraded.where == "slow_update"
    assert degraded.reason.endswith(f"passage of task `{trajectory.task.id}`")


def test_analysts_read_the_label_set_and_how_examples_are_marked() -> None:
    assert labels_text(Labels()) == ""
    assert labels_text(Labels(("billing", "login"))).endswith("name them:\n- billing\n- login")
    assert quoting_text([]) == ""
    assert quoting_text(["t1"]).endswith("<!-- worked example: t1 -->")


@pytest.mark.parametrize("known", [True, False])
def test_references_come_from_the_benchmark_else_from_scores(known: bool) -> None:
    run = step_one()
    task = run.splits["train"][0]
    scored = [Trajectory(task, Attempt("x"), Score(0.0, 0.0, expected=("an odd answer",)))]
    if not known:
        object.__setattr__(run, "benchmark", object())
    secrets = dict(train_labels(run, scored).secrets)
    assert ("an odd answer" in secrets) is not known


def test_the_labels_of_the_train_split_are_found_once_for_all_steps() -> None:
    run = toy_run(Toy(settings=("train.num_epochs=2",)))
    found = train_labels(run)
    assert train_labels(run.at(run.plan.step(1))) is found
    assert train_labels(run.at(run.plan.step(run.plan.total)).in_round(2, ())) is found
