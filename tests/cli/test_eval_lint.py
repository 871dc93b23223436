"""`skillopt eval --lint`: flaky tasks, tasks that tell no arms apart, duplicates, quotations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from command_line import SMALLEST, finished_run, skillopt

from skillopt_cli.plugins import load_benchmark
from skillopt_cli.ports import BenchmarkRequest

FLAKY = ("--set", "model.simulated.flaky_rate=1")


def lint(*arguments: object) -> Any:
    ended = skillopt("eval", *arguments, "--lint", "--json")
    assert ended.code == 0, ended.err
    return ended.json["lint"]


def planted(name: str, passage: str) -> Path:
    path = Path(name)
    path.write_text(f"# Mine\n\n- Be brief.\n- Remember: {passage}\n", encoding="utf-8")
    return path


def context_of_first_train_task() -> tuple[str, str]:
    benchmark = load_benchmark("searchqa").open(BenchmarkRequest())
    task = benchmark.tasks("train")[0]
    return task.id, " ".join(str(task.data["context"]).split())


def test_a_task_with_different_marks_over_its_draws_is_flaky_and_a_steady_one_is_not() -> None:
    found = lint("searchqa", *SMALLEST, "--arms", "none,seed", "--repeats", 2, *FLAKY)
    assert found["flaky"]
    assert all(arms == ["none", "seed"] for arms in found["flaky"].values())
    steady = lint("searchqa", *SMALLEST, "--arms", "none,seed", "--repeats", 2)
    assert steady["flaky"] == {}


def test_tasks_that_every_arm_passes_or_fails_are_listed() -> None:
    run = finished_run(*SMALLEST)
    ended = skillopt("eval", "--skill", run, "--arms", "seed,best", "--lint", "--run-id", "e")
    folder = Path("outputs/searchqa/e")
    found = json.loads((folder / "eval_summary.json").read_text(encoding="utf-8"))["lint"]
    rows = [json.loads(line) for line in (folder / "tasks.jsonl").read_text("utf-8").splitlines()]
    marks = {row["id"]: {arm["hard"][0] for arm in row["arms"].values()} for row in rows}
    assert found["passed"] == [task for task, hard in marks.items() if hard == {1.0}]
    assert found["failed"] == [task for task, hard in marks.items() if hard == {0.0}]
    assert "\nlint\n  every arm passes (" in ended.out
    assert "flaky: not known from one draw, add --repeats 2" in ended.out


def test_a_planted_passage_is_caught_and_an_honest_skill_passes() -> None:
    task, context = context_of_first_train_task()
    leaking = planted("leaking.md", context[:120])
    honest = planted("honest.md", "read the sentence that names the subject first.")
    found = lint("searchqa", *SMALLEST, "--arms", f"{leaking},{honest}")
    assert [(q["arm"], q["task"], q["split"]) for q in found["quoted"]] == [
        ("leaking", task, "train")
    ]
    shown = skillopt("eval", "searchqa", *SMALLEST, "--skill", leaking, "--lint")
    assert f'the arm skill quotes {task} (train): "' in shown.out


def test_a_near_duplicate_in_another_split_is_named() -> None:
    river = "Which river flows past the old mill that the brothers Holm built in {}"
    other = "What did the keeper of the library in the north say about heaps of paper?"
    prompts = {
        "train": (river.format("1821?"), other),
        "selection": (river.format("1821, please?"), "Who wrote the national anthem?"),
        # With another number it is another question.
        "test": (river.format("1822?"), "How deep is the harbour?"),
    }
    for split, (first, second) in prompts.items():
        folder = Path("data", split)
        folder.mkdir(parents=True)
        rows = [
            {"id": f"{split}-1", "question": first, "answer": "Gudenaa"},
            {"id": f"{split}-2", "question": second, "answer": f"of {split}"},
        ]
        (folder / "tasks.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in rows), "utf-8")
    given = ("--split-dir", "data", "--target-backend", "simulated", "--from-scratch")
    (pair,) = lint("folder", *given)["near_duplicates"]
    assert (pair["first"], pair["second"]) == ("train-1", "selection-1")
    assert 0.9 <= pair["share"] < 1.0
