"""What the commonest answer scores, beside the verdict on label tasks, and nowhere else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt_cli.benchmarks.folder import SPEC
from skillopt_cli.core.events import VerdictReached
from skillopt_cli.core.label_diagnostics import LabelDiagnostics
from skillopt_cli.core.run_verdict import VerdictRule, run_verdict
from skillopt_cli.core.score import HARD, Mark
from skillopt_cli.core.task import ChatRequest
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.session import train_session
from skillopt_cli.ports import Benchmark, BenchmarkRequest
from skillopt_cli.testing import (
    EventLog,
    FunctionChat,
    MemoryStore,
    Toy,
    ToyBenchmark,
    toy_session,
)

SHORT = ("train.batch_size=2", "train.num_epochs=1", "optimizer.verify=off")
LABELS = ("billing", "billing", "login", "billing")


def own_tasks(folder: Path, answers: dict[str, tuple[str, ...]]) -> Benchmark:
    """Three splits of tasks with these answers."""
    for split, given in answers.items():
        records = [{"prompt": f"{split} {n}?", "answer": a} for n, a in enumerate(given)]
        path = folder / split / "items.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(records), encoding="utf-8")
    options = {"scorer": "exact", "seed_skill": "Answer."}
    return SPEC.open(BenchmarkRequest(split_dir=folder, options=options))


async def majority_of(
    benchmark: Benchmark, reply: str, *settings: str
) -> tuple[str, LabelDiagnostics | None]:
    """The split of the verdict on a target that always replies so, and what is beside it."""
    log = EventLog()
    target, optimizer = (
        FunctionChat(lambda request, text=text: "ok" if request.stage == "preflight" else text)
        for text in (reply, '{"edits": []}')
    )
    toy = Toy((*SHORT, *settings), target, optimizer, benchmark)
    await train_session(toy_session(toy, observers=(Subscriber("log", log),)))
    (reached,) = log.of(VerdictReached)
    return reached.verdict.split, reached.majority


@pytest.mark.parametrize(
    ("reply", "unlabelled"),
    [
        ("<answer>login</answer>", 0),
        ("It is a billing matter.", 4),
        ("I do not know.", 4),
        ("", 4),
    ],
)
async def test_the_commonest_answer_of_the_train_tasks_on_those_of_the_verdict(
    tmp_path: Path, reply: str, unlabelled: int
) -> None:
    tasks = own_tasks(
        tmp_path,
        {"train": LABELS, "val": LABELS, "test": ("login", "login", "login", "billing")},
    )
    split, found = await majority_of(tasks, reply)
    assert split == "test"
    assert found is not None and found.verdict is not None
    bare = replace(found, verdict=None, never_right={})
    assert bare == LabelDiagnostics("billing", 0.25, 4, 4, unlabelled)
    right = 3 * ("login" in reply)
    assert found.never_right == ({"billing": 1} if right else {"login": 3, "billing": 1})
    assert (found.verdict.seed, found.verdict.best, found.verdict.n) == (0.25, right / 4, 4)
    assert found.unbeaten


async def test_of_equally_common_answers_the_one_is_compared_that_is_hardest_to_beat(
    tmp_path: Path,
) -> None:
    even = ("billing", "login", "returns", "billing", "login", "returns")
    tasks = own_tasks(tmp_path, {"train": even, "val": even, "test": even * 2})
    _, found = await majority_of(tasks, "login")
    assert found is not None and found.verdict is not None
    # All three score alike; only the skill's own answer has no task that the skill wins or loses.
    assert (found.equally_common, found.score) == (3, 4 / 12)
    by_answer = {}
    for answer in ("billing", "returns"):
        marks = {f"t{n}": Mark(float(one == answer), 0) for n, one in enumerate(even * 2)}
        best = {f"t{n}": Mark(float(one == "login"), 0) for n, one in enumerate(even * 2)}
        by_answer[answer] = run_verdict(marks, best, "test", VerdictRule(HARD))
    assert found.difficulty >= max(
        replace(found, verdict=verdict).difficulty for verdict in by_answer.values()
    )


async def test_tasks_set_aside_for_the_verdict_are_those_that_count(tmp_path: Path) -> None:
    tasks = own_tasks(tmp_path, {"train": LABELS, "val": ("billing",) * 8, "test": ("login",) * 4})
    split, found = await majority_of(
        tasks, "login", "evaluation.confirm_fraction=0.5", "evaluation.eval_test=false"
    )
    assert split == "confirmation"
    assert found is not None and (found.answer, found.score, found.n) == ("billing", 1.0, 4)
    # The best skill is the seed, which is not measured on tasks set aside.
    assert found.verdict is None and not found.unbeaten


async def test_answers_that_hardly_repeat_and_other_benchmarks_have_none(tmp_path: Path) -> None:
    words = [f"word{n}" for n in range(12)]
    tasks = own_tasks(
        tmp_path, {"train": (*words[:4],), "val": (*words[4:8],), "test": (*words[8:],)}
    )
    assert (await majority_of(tasks, "no"))[1] is None
    toy = ToyBenchmark({"train": 4, "selection": 4, "test": 4})
    assert (await majority_of(toy, "no"))[1] is None


@pytest.mark.parametrize(
    ("settings", "arm"),
    [
        ((), "majority"),
        (
            ("evaluation.confirm_fraction=0.5", "evaluation.eval_test=false"),
            "majority_confirmation",
        ),
    ],
)
async def test_a_skill_that_always_gives_one_answer_is_better_than_the_seed_and_not_than_that(
    tmp_path: Path, settings: tuple[str, ...], arm: str
) -> None:
    tasks = own_tasks(tmp_path, {"train": LABELS, "val": LABELS * 6, "test": LABELS * 3})
    edit = {"op": "append", "content": "- Be polite.", "support": 2}

    def taught(request: ChatRequest) -> str:
        said = "\n".join(message.content for message in request.messages)
        return "billing" if "- Be polite." in said else "ok" if request.stage == "preflight" else ""

    def edits(request: ChatRequest) -> str:
        return "ok" if request.stage == "preflight" else json.dumps({"edits": [edit]})

    store, log = MemoryStore(), EventLog()
    toy = Toy((*SHORT, *settings), FunctionChat(taught), FunctionChat(edits), tasks)
    await train_session(toy_session(toy, store, [Subscriber("log", log)]))
    (reached,) = log.of(VerdictReached)
    verdict, majority = reached.verdict, reached.majority
    assert verdict.word == "improved"
    assert majority is not None and majority.verdict is not None
    found = majority.verdict
    assert (found.split, found.n, found.metric) == (verdict.split, verdict.n, verdict.metric)
    assert (found.seed, found.best) == (majority.score, verdict.best) == (found.best, found.best)
    assert (found.gain, found.fixed, found.broke, found.word) == (0, 0, 0, "underpowered")
    assert majority.unbeaten
    rows = [json.loads(line) for line in store.files[f"test/{arm}/results.jsonl"].splitlines()]
    assert len(rows) == verdict.n
    assert {row["hard"] for row in rows if row["expected"] == ["billing"]} == {1.0}
    assert {row["hard"] for row in rows if row["expected"] == ["login"]} == {0.0}
