"""LiveMathematicianBench: items in every published form, and labels however they are given."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from task_files import write_json, write_splits

from skillopt_cli.benchmarks.kit.data_check import check_data
from skillopt_cli.benchmarks.livemathematicianbench import SPEC
from skillopt_cli.benchmarks.livemathematicianbench.prepare import DATASET, prepare
from skillopt_cli.benchmarks.livemathematicianbench.scoring import score_reply
from skillopt_cli.benchmarks.livemathematicianbench.tasks import shuffled
from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.core.task import SPLITS, Attempt, Task
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import Benchmark, BenchmarkRequest
from skillopt_cli.testing import check_benchmark

OPTIONS = ("Every $n$", "Some $n$", "$n > 1$ only", "No $n$")


def row(number: int, **more: Any) -> dict[str, Any]:
    return {
        "month": "2026-01",
        "no": number,
        "question": f"For which $n$ does statement {number} hold?",
        "choices": list(OPTIONS),
        "correct_choice": "B",
        **more,
    }


def opened(folder: Path, rows: list[dict[str, Any]], **options: Any) -> Benchmark:
    spare = [row(100), row(200)]
    write_splits(folder, rows, spare[:1], spare[1:])
    return SPEC.open(BenchmarkRequest(split_dir=folder, options=options))


def right(task: Task) -> str:
    text: str = task.data["choices"][task.data["right"]]
    return text


@pytest.mark.parametrize(
    ("reply", "hard"),
    [
        ("<answer>B</answer>", 1.0),
        ("<answer>b</answer>", 1.0),
        ("<answer>(B)</answer>", 1.0),
        ("<answer>**B**</answer>", 1.0),
        ("<answer>Option B</answer>", 1.0),
        ("<answer>option (b).</answer>", 1.0),
        ("<answer>B.</answer>", 1.0),
        ("<answer>B)</answer>", 1.0),
        ("<answer>B:</answer>", 1.0),
        ("<answer>B. Some $n$</answer>", 1.0),
        ("<answer>Some $n$</answer>", 1.0),
        ("<answer>some $n$.</answer>", 1.0),
        ("<answer>B - Some $n$</answer>", 1.0),
        ("<answer>**B** \u2013 some $n$</answer>", 1.0),
        ("<answer>Option B—Some $n$.</answer>", 1.0),
        ("<answer>B - Every $n$</answer>", 0.0),
        ("<answer>B - A</answer>", 0.0),
        ("<answer>B - 1</answer>", 0.0),
        ("I compare them.\n<answer>B", 1.0),
        ("<answer>$\\boxed{B}$</answer>", 1.0),
        ("<answer>\\text{B}</answer>", 1.0),
        ("<ANSWER>\nB\n</ANSWER>", 1.0),
        ("<answer>A</answer> no, <answer>B</answer>", 1.0),
        ("I compare them.\nThe answer is B", 1.0),
        ("The answer is **(B)**.", 1.0),
        ("**Answer:** B", 1.0),
        ("B is correct", 1.0),
        ("<answer>A</answer>", 0.0),
        ("<answer>B. Every $n$</answer>", 0.0),
        ("<answer>A or B</answer>", 0.0),
        ("<answer>Z</answer>", 0.0),
        ("<answer>A sharp bound, so B</answer>", 0.0),
        ("<answer></answer>", 0.0),
        ("", 0.0),
        ("I cannot tell.", 0.0),
    ],
)
def test_scores(reply: str, hard: float) -> None:
    score = score_reply(reply, OPTIONS, 1)
    assert (score.hard, score.soft) == (hard, hard)
    assert score.expected == ("B. Some $n$",)
    assert bool(score.feedback) is (hard == 0.0)


def test_a_wrong_answer_says_what_was_wanted() -> None:
    assert score_reply("<answer>A</answer>", OPTIONS, 1).feedback == (
        'expected "B. Some $n$", got "A"'
    )
    assert score_reply("<answer>Q</answer>", OPTIONS, 1).feedback.endswith(
        "which names none of the options"
    )


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"correct_choice": "b)"},
        {"correct_choice": {"label": "B", "text": "Some $n$"}},
        {"correct_choice": {"label": "B"}},
        {"correct_choice": "Some $n$"},
        {"choices": [{"label": f"{c}.", "text": t} for c, t in zip("ABCD", OPTIONS, strict=True)]},
        {"choices": [{"label": c, "content": t} for c, t in zip("ABCD", OPTIONS, strict=True)]},
        {"choices": dict(zip("DBCA", (OPTIONS[i] for i in (3, 1, 2, 0)), strict=True))},
        {"choices": [f"{c}. {t}" for c, t in zip("ABCD", OPTIONS, strict=True)]},
        {
            "question": None,
            "choices": None,
            "correct_choice": None,
            "mcq": {
                "question": "Which?",
                "choices": list(OPTIONS),
                "correct_choice": {"label": "B"},
            },
        },
        {
            "choices": [OPTIONS[0], *OPTIONS[2:]],
            "correct_choice": {"label": "X", "text": "Some $n$"},
        },
    ],
)
def test_an_item_in_every_published_form(tmp_path: Path, more: dict[str, Any]) -> None:
    (task,) = opened(tmp_path, [row(1, **more)]).tasks("train")
    assert task.id == "2026-01:1"
    assert right(task) == "Some $n$"
    assert sorted(task.data["choices"]) == sorted(OPTIONS)


def test_more_than_eight_options(tmp_path: Path) -> None:
    many = [f"bound {n}" for n in range(12)]
    benchmark = opened(tmp_path, [row(1, choices=many, correct_choice="bound 9")])
    (task,) = benchmark.tasks("train")
    assert right(task) == "bound 9"
    assert "\nL. bound " in benchmark.brief(task).prompt


def test_what_a_run_does_without_is_told(tmp_path: Path) -> None:
    bad = [
        row(2, question=" "),
        row(3, choices=[]),
        row(4, choices="A or B"),
        row(5, correct_choice=None),
        row(6, correct_choice="Z"),
        row(7, choices=["same", "same"], correct_choice="A"),
        row(8, mcq={"choices": ["a"]}),
    ]
    benchmark = opened(tmp_path, [row(1), *bad])
    assert [task.id for task in benchmark.tasks("train")] == ["2026-01:1"]
    assert benchmark.source.endswith(
        "(1 train / 1 selection / 1 test; 7 records left out: 2 without a question,"
        " 2 without a right option, 2 without options, 1 whose options cannot be told apart)"
    )


def test_a_split_of_nothing_usable_says_why(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        opened(tmp_path, [row(1, question="")])
    assert "holds no tasks" in caught.value.message
    assert caught.value.hint == "1 record left out: without a question"


def test_the_order_is_that_of_the_published_code_under_one_seed() -> None:
    seed = int(hashlib.sha256(b"42:2026-01:7").hexdigest()[:16], 16)
    wanted = list("ABCDE")
    Random(seed).shuffle(wanted)
    assert shuffled("ABCDE", 42, "2026-01:7") == wanted
    assert shuffled("ABCDE", 43, "2026-01:7") != wanted


def test_an_item_has_one_order_wherever_it_is_used(tmp_path: Path) -> None:
    rows = [row(n) for n in range(8)]
    tasks = opened(tmp_path / "a", rows).tasks("train")
    again = opened(tmp_path / "b", rows[3:]).tasks("train")
    assert list(tasks[3:]) == list(again)
    assert len({task.data["right"] for task in tasks}) > 1
    other = opened(tmp_path / "c", rows, choice_seed=7).tasks("train")
    assert [t.data["choices"] for t in other] != [t.data["choices"] for t in tasks]
    plain = opened(tmp_path / "d", rows, shuffle_choices=False).tasks("train")
    assert all(task.data["choices"] == list(OPTIONS) for task in plain)


def test_theorem_and_sketch_are_shown_on_request_only(tmp_path: Path) -> None:
    rows = [row(1, theorem="Every $n$ is fine.", sketch="By induction.", theorem_type=["lemma"])]
    benchmark = opened(tmp_path, rows)
    (task,) = benchmark.tasks("train")
    assert task.kind == "lemma"
    assert [s.title for s in benchmark.brief(task).sections] == ["Question", "Choices"]
    shown = opened(tmp_path, rows, use_theorem=True, use_sketch=True)
    (told,) = shown.tasks("train")
    titles = [s.title for s in shown.brief(told).sections]
    assert titles == ["Question", "Choices", "Theorem", "Proof sketch"]
    assert told.digest != task.digest


def test_the_brief_holds_the_question_and_the_options(tmp_path: Path) -> None:
    benchmark = opened(tmp_path, [row(1)], shuffle_choices=False)
    (task,) = benchmark.tasks("train")
    assert task.kind == "math_mcq"
    assert benchmark.brief(task).prompt == (
        "## Question\nFor which $n$ does statement 1 hold?\n\n"
        "## Choices\nA. Every $n$\nB. Some $n$\nC. $n > 1$ only\nD. No $n$"
    )


def test_monthly_files_are_read_together(tmp_path: Path) -> None:
    rows = [{k: v for k, v in row(n).items() if k not in ("month", "no")} for n in range(6)]
    write_json(tmp_path / "qa_2026-01_final.json", rows[:4])
    write_json(tmp_path / "deep/er/qa_2026-02_final.json", rows[4:])
    write_json(tmp_path / "notes.json", [])
    benchmark = SPEC.open(BenchmarkRequest(data_path=tmp_path))
    ids = {task.id for split in SPLITS for task in benchmark.tasks(split)}
    assert ids == {*(f"2026-01:{n}" for n in range(1, 5)), "2026-02:1", "2026-02:2"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shufle_choices": True}, "`env.shufle_choices` is not an option"),
        ({"choice_seed": "x"}, "`env.choice_seed`"),
    ],
)
def test_options_are_checked(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        opened(tmp_path, [row(1)], **options)


async def test_the_sample_keeps_the_contract(tmp_path: Path) -> None:
    benchmark = SPEC.open(BenchmarkRequest(data_root=Path("nowhere")))
    await check_benchmark(benchmark)
    found = await check_data(benchmark, LocalExecutor(tmp_path, {}))
    assert [f.what for f in found if f.level == "error"] == []
    assert all("split has" in f.what for f in found)
    sizes = [len(benchmark.tasks(split)) for split in SPLITS]
    assert sizes == [16, 8, 12]


async def test_giving_up_is_wrong() -> None:
    benchmark = SPEC.open(BenchmarkRequest(data_root=Path("nowhere")))
    task = benchmark.tasks("test")[0]
    score = await benchmark.score(task, Attempt("<answer>A</answer>", ending="gave_up"))
    assert (score.hard, score.feedback) == (0.0, "no answer was given")


def months(folder: Path, count: int) -> Path:
    half = count // 2
    write_json(folder / "qa_2025-12_final.json", [row(n, month="2025-12") for n in range(half)])
    rest = [row(n + 1000) for n in range(count - half)]
    write_json(folder / "data/qa_2026-01_final.json", [*rest, row(9999, question="")])
    return folder


def test_preparing_draws_a_selection_or_takes_a_manifest(tmp_path: Path) -> None:
    source = months(tmp_path / "source", 180)
    counts = prepare(tmp_path / "data/livemathematicianbench", dataset=str(source))
    assert counts == {"train": 35, "selection": 17, "test": 125} == SPEC.sizes
    benchmark = SPEC.open(BenchmarkRequest(data_root=tmp_path / "data"))
    drawn = [task.id for split in SPLITS for task in benchmark.tasks(split)]
    assert len(set(drawn)) == 177
    about = json.loads((tmp_path / "data/livemathematicianbench/split_manifest.json").read_text())
    assert about["left_out"] == {"without a question": 1}
    ids = write_splits(
        tmp_path / "ids",
        [{"id": "2025-12:3"}, {"month": "2026-01", "no": 1001}],
        [{"id": "2025-12:1"}],
        [{"id": "2026-01:1002"}],
    )
    counts = prepare(tmp_path / "own", ids, dataset=str(source))
    assert counts == {"train": 2, "selection": 1, "test": 1}
    again = SPEC.open(BenchmarkRequest(split_dir=tmp_path / "own"))
    assert [task.id for task in again.tasks("train")] == ["2025-12:3", "2026-01:1001"]
    direct = SPEC.open(BenchmarkRequest(data_path=source)).tasks
    same = {task.id: task for split in SPLITS for task in direct(split)}
    assert all(same[task.id] == task for task in again.tasks("train"))


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"id": "2031-01:1"}], "lacks 1 of the 3 wanted ids: `2031-01:1`"),
        ([{"no": 3}], "`id` is missing"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, records: list[dict[str, Any]], message: str
) -> None:
    source = months(tmp_path / "source", 10)
    ids = write_splits(tmp_path / "m", records, [{"id": "2025-12:1"}], [{"id": "2025-12:2"}])
    with pytest.raises(DataError) as caught:
        prepare(tmp_path / "data", ids, dataset=str(source))
    assert message in caught.value.message
    assert not (tmp_path / "data").exists()


def test_without_files_or_hub_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="has no file `qa_"):
        prepare(tmp_path, dataset=str(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with pytest.raises(DataError) as caught:
        prepare(tmp_path, dataset=DATASET)
    assert caught.value.hint == "pip install 'skillopt-cli[data]'"
