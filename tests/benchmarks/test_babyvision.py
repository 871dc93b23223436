"""BabyVision: answers in every form of the data, numbers that are read as one, and a judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pictures_for_tests import assert_drawn_by, png, put
from task_files import write_json, write_lines, write_splits

from skillopt_cli.benchmarks.babyvision import SPEC
from skillopt_cli.benchmarks.babyvision.prepare import FIELDS, prepare
from skillopt_cli.benchmarks.babyvision.scoring import boxed, clear_score
from skillopt_cli.benchmarks.babyvision.tasks import Numbering
from skillopt_cli.benchmarks.kit.data_check import check_data
from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.core.score import Private, Score
from skillopt_cli.core.task import SPLITS, Attempt, Task
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import Benchmark, BenchmarkRequest, Judged
from skillopt_cli.testing import check_benchmark

OPTIONS = ("red cat", "blue dog", "green bird")
CHOICE = {"choices": list(OPTIONS), "right": 1, "answer": ""}
LETTERS = {"choices": list("ABCD"), "right": 2, "answer": ""}


def blank(answer: str) -> dict[str, Any]:
    return {"choices": [], "right": None, "answer": answer}


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("It is \\boxed{B}.", "B"),
        ("\\boxed{A} or rather \\boxed{\\text{B}}", "\\text{B}"),
        ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("<|begin_of_box|>3<|end_of_box|>", "3"),
        ("<|begin_of_box|>3<|end_of_box|> <|begin_of_box|>\n4\n<|end_of_box|>", "4"),
        ("<|begin_of_box|>3<|end_of_box|> \\boxed{5}", "5"),
        ("<answer>B</answer>", ""),
        ("B", ""),
        ("", ""),
        ("\\boxed{B", ""),
    ],
)
def test_the_answer_of_a_reply(reply: str, answer: str) -> None:
    assert boxed(reply) == answer


@pytest.mark.parametrize(
    ("data", "answer", "hard"),
    [
        (CHOICE, "B", 1.0),
        (CHOICE, "(b)", 1.0),
        (CHOICE, "\\text{B}", 1.0),
        (CHOICE, "**B**", 1.0),
        (CHOICE, "Option B", 1.0),
        (CHOICE, "Blue dog", 1.0),
        (CHOICE, "B. blue dog", 1.0),
        (CHOICE, "A", 0.0),
        (CHOICE, "green bird", 0.0),
        (CHOICE, "the dog", None),
        (CHOICE, "B. red cat", None),
        (CHOICE, "A or B", None),
        (CHOICE, None, 0.0),
        (CHOICE, "", 0.0),
        (LETTERS, "C", 1.0),
        (LETTERS, "D", 0.0),
        (LETTERS, "the third", None),
        (blank("12"), "12", 1.0),
        (blank("12"), "$12$", 1.0),
        (blank("12"), "\\text{12}.", 1.0),
        (blank("12"), "twelve", None),
        (blank("12"), "13", None),
        (blank("12"), None, 0.0),
        (blank("North East"), "north  east", 1.0),
        (blank("3 | 4"), "3, 4", 1.0),
        (blank("3 | 4"), "3 | 4", 1.0),
        (blank("3 | 4"), "3; 4", 1.0),
        (blank("3 | 4"), "4, 3", None),
        (blank("(3, 4)"), "(3,4)", 1.0),
        (blank("?"), "!", None),
        (blank("?"), "?", 1.0),
    ],
)
def test_what_needs_no_judge(data: dict[str, Any], answer: str | None, hard: float | None) -> None:
    score = clear_score(data, answer)
    assert (None if score is None else score.hard) == hard
    if score is not None:
        assert score.soft == score.hard
        assert bool(score.feedback) is (hard == 0.0)


def row(task: int | str, **more: Any) -> dict[str, Any]:
    return {
        "taskId": task,
        "type": "Tracking",
        "subtype": "Lines",
        "question": "Which animal is asleep?",
        "image": f"{task}.png",
        "ansType": "choice",
        "options": list(OPTIONS),
        **more,
    }


def put_pictures(folder: Path, rows: list[dict[str, Any]]) -> None:
    for number, item in enumerate(rows):
        if isinstance(item.get("image"), str):
            put(folder / "images" / item["image"], number)


def opened(folder: Path, rows: list[dict[str, Any]], **options: Any) -> Benchmark:
    """The rows as the train split; the other splits hold a row without a number each."""
    folder.mkdir(parents=True, exist_ok=True)
    spare = [row(901, choiceAns="A"), row(902, choiceAns="A")]
    put_pictures(folder, [*rows, *spare])
    write_splits(folder, rows, spare[:1], spare[1:])
    return SPEC.open(
        BenchmarkRequest(
            split_dir=folder, options={"image_root": str(folder / "images"), **options}
        )
    )


def answer_of(task: Task) -> str:
    return str(task.data["answer"] or task.data["choices"][task.data["right"]])


@pytest.mark.parametrize(
    ("more", "answer"),
    [
        ({"choiceAns": "B"}, "blue dog"),
        ({"choiceAns": "b."}, "blue dog"),
        ({"choiceAns": "Blue dog"}, "blue dog"),
        ({"choiceAns": {"label": "B"}}, "blue dog"),
        ({"choiceAns": {"label": "B", "text": "blue dog"}}, "blue dog"),
        ({"choiceAns": {"text": "blue dog"}}, "blue dog"),
        ({"choiceAns": ["B"]}, "blue dog"),
        ({"choiceAns": 1}, "blue dog"),
        ({"choiceAns": "1"}, "blue dog"),
        ({"choiceAns": 1.0}, "blue dog"),
        ({"ansType": "Choice_single", "choiceAns": "B"}, "blue dog"),
        ({"ansType": None, "choiceAns": "B"}, "blue dog"),
        ({"options": None, "choices": {"A": "x", "B": "y"}, "choiceAns": "B"}, "y"),
        ({"options": ["A. x", "B. y"], "choiceAns": "B"}, "y"),
        ({"options": [], "choiceAns": "C"}, "C"),
        ({"options": [], "choiceAns": 2}, "C"),
        ({"options": ["1", "2", "3"], "choiceAns": "3"}, "3"),
        ({"ansType": "blank", "blankAns": " 12 "}, "12"),
        ({"ansType": "blank_multi", "blankAns": [3, "4"]}, "3 | 4"),
        ({"ansType": "", "options": None, "blankAns": 7}, "7"),
    ],
)
def test_an_answer_in_every_form(tmp_path: Path, more: dict[str, Any], answer: str) -> None:
    (task,) = opened(tmp_path, [row(1, **more)]).tasks("train")
    assert (task.id, task.kind, answer_of(task)) == ("1", "Lines", answer)


def test_fields_under_their_other_names(tmp_path: Path) -> None:
    item = row(1, choiceAns="A", query="Who?", question=None, subtype="", id="x", taskId=None)
    (task,) = opened(tmp_path, [item]).tasks("train")
    assert (task.id, task.kind, task.data["question"]) == ("x", "Tracking", "Who?")


def test_one_zero_shows_that_all_numbers_count_from_zero(tmp_path: Path) -> None:
    benchmark = opened(tmp_path, [row(1, choiceAns=1), row(2, choiceAns=0), row(3, choiceAns=2)])
    assert [answer_of(t) for t in benchmark.tasks("train")] == [
        "blue dog",
        "red cat",
        "green bird",
    ]
    assert benchmark.source.endswith("; whole numbers in choiceAns count from 0")


def test_one_last_shows_that_all_numbers_count_from_one(tmp_path: Path) -> None:
    benchmark = opened(tmp_path, [row(1, choiceAns=1), row(2, choiceAns=3)])
    assert [answer_of(t) for t in benchmark.tasks("train")] == ["red cat", "green bird"]
    assert benchmark.source.endswith("; whole numbers in choiceAns count from 1")


def test_numbers_that_show_nothing_are_read_as_published_and_told(tmp_path: Path) -> None:
    rows = [row(1, choiceAns=1), row(2, choiceAns=2)]
    benchmark = opened(tmp_path / "a", rows)
    assert [answer_of(t) for t in benchmark.tasks("train")] == ["blue dog", "green bird"]
    assert "(nothing in the data tells; see env.choice_base)" in benchmark.source
    other = opened(tmp_path / "b", rows, choice_base=1)
    assert [answer_of(t) for t in other.tasks("train")] == ["red cat", "blue dog"]
    assert other.source.endswith("count from 1")


def test_numbers_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    rows = [row(1, choiceAns=0), row(2, choiceAns=3)]
    with pytest.raises(DataError) as caught:
        opened(tmp_path / "a", rows)
    assert caught.value.message == "`choiceAns` counts from 0 in 1 records and from 1 in 1"
    kept = opened(tmp_path / "b", rows, choice_base=0)
    assert [t.id for t in kept.tasks("train")] == ["1"]
    assert "1 record left out: whose choiceAns is out of range" in kept.source


def test_a_limit_does_not_alter_how_numbers_are_read(tmp_path: Path) -> None:
    rows = [row(1, choiceAns=1), row(2, choiceAns=3)]
    (whole, _) = opened(tmp_path, rows).tasks("train")
    options = {"image_root": str(tmp_path / "images")}
    limited = SPEC.open(BenchmarkRequest(split_dir=tmp_path, limit=1, options=options))
    assert list(limited.tasks("train")) == [whole]


def test_numbering_takes_what_can_be() -> None:
    numbering = Numbering()
    assert [numbering.take(n, 3) for n in (-1, 0, 2, 4)] == [False, True, True, False]
    assert (numbering.numbers, numbering.zeros, numbering.lasts) == (2, 1, 0)
    assert Numbering().note == ""


def test_what_a_run_does_without_is_told(tmp_path: Path) -> None:
    bad = [
        row(2, choiceAns="A", image=None),
        row(3, choiceAns="A", question=" "),
        row(4, choiceAns="Z"),
        row(5, choiceAns=None),
        row(6, choiceAns=True),
        row(7, choiceAns=9),
        row(8, choiceAns="A", options=["same", "same"]),
        row(9, choiceAns="A", options="A. red"),
        row(10, ansType="blank", blankAns=None),
        row(11, ansType="blank", blankAns=["1", ""]),
        row(12, ansType="blank", blankAns=[]),
    ]
    benchmark = opened(tmp_path, [row(1, choiceAns="A"), *bad])
    assert [task.id for task in benchmark.tasks("train")] == ["1"]
    assert "; 11 records left out: 6 without a usable answer, 2 whose options cannot be told" in (
        benchmark.source
    )
    for reason in ("1 without a picture", "1 without a question", "1 whose choiceAns is out of"):
        assert reason in benchmark.source


def test_a_picture_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    write_splits(tmp_path, *[[row(n, choiceAns="A")] for n in range(3)])
    with pytest.raises(DataError, match=r"the picture `0\.png` is not there"):
        SPEC.open(BenchmarkRequest(split_dir=tmp_path))


def test_the_published_file_is_cut_by_ratio(tmp_path: Path) -> None:
    rows = [row(n, choiceAns=n % 3, image=f"images/{n}.png") for n in range(10)]
    for number in range(10):
        put(tmp_path / f"images/{number}.png", number)
    path = tmp_path / "meta_data.jsonl"
    write_lines(path, rows)
    benchmark = SPEC.open(BenchmarkRequest(data_path=path))
    assert [len(benchmark.tasks(split)) for split in SPLITS] == [2, 1, 7]


def test_the_brief_shows_options_and_the_picture(tmp_path: Path) -> None:
    rows = [row(1, choiceAns="B"), row(2, choiceAns="B", options=list("ABCD"))]
    rows.append(row(3, ansType="blank", blankAns="3"))
    benchmark = opened(tmp_path, rows, image_detail="high")
    listed, bare, free = (benchmark.brief(task) for task in benchmark.tasks("train"))
    assert listed.prompt == (
        "## Question\nWhich animal is asleep?\n\n## Choices\nA. red cat\nB. blue dog\nC. green bird"
    )
    assert bare.sections[1].text == "A, B, C, D"
    assert [section.title for section in free.sections] == ["Question"]
    (image,) = listed.images
    assert (image.media_type, image.detail) == ("image/png", "high")
    assert Path(image.path).read_bytes() == png(0)
    assert "\\boxed{" in listed.answer_format
    assert "\\boxed{" in benchmark.seed_skill
    assert "<answer>" not in listed.answer_format + benchmark.seed_skill
    assert benchmark.version != opened(tmp_path, rows).version


def judged(tmp_path: Path, **more: Any) -> tuple[Judged, Task]:
    benchmark = opened(tmp_path, [row(1, **more)])
    assert isinstance(benchmark, Judged)
    return benchmark, benchmark.tasks("train")[0]


def test_the_judge_reads_question_options_reference_and_answer(tmp_path: Path) -> None:
    benchmark, task = judged(tmp_path, choiceAns="B")
    attempt = Attempt("So \\boxed{the sleeping dog}")
    asked = benchmark.ask_judge(task, attempt)
    assert not isinstance(asked, Score)
    assert asked[1].content == (
        "## Question\nWhich animal is asleep?\nA. red cat\nB. blue dog\nC. green bird\n\n"
        "## Reference answer\nB. blue dog\n\n## Answer to judge\n> the sleeping dog"
    )
    wanted = ("B. blue dog",)
    right = benchmark.hear_judge(task, attempt, "True")
    assert right == Score(1.0, 1.0, "", wanted, Private("True"))
    wrong = benchmark.hear_judge(task, attempt, "INCORRECT")
    assert wrong is not None
    assert (wrong.hard, wrong.feedback) == (0.0, 'expected "B. blue dog", got "the sleeping dog"')
    for unclear in ("It is not true that this is correct", "maybe", ""):
        assert benchmark.hear_judge(task, attempt, unclear) is None


@pytest.mark.parametrize("reply", ["no box here", "\\boxed{}", "None", ""])
def test_no_answer_needs_no_judge(tmp_path: Path, reply: str) -> None:
    benchmark, task = judged(tmp_path, ansType="blank", blankAns="None")
    score = benchmark.ask_judge(task, Attempt(reply))
    assert isinstance(score, Score)
    assert score.hard == 0.0
    assert "has no answer in \\boxed{...}" in score.feedback


@pytest.mark.parametrize(
    ("options", "message"),
    [({"choice_base": "2"}, "env.choice_base"), ({"image_detial": "low"}, "image_detial")],
)
def test_options_are_checked(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        opened(tmp_path, [row(1, choiceAns="A")], **options)


async def test_the_sample_keeps_the_contract(tmp_path: Path) -> None:
    benchmark = SPEC.open(BenchmarkRequest(data_root=tmp_path))
    await check_benchmark(benchmark)
    found = await check_data(benchmark, LocalExecutor(tmp_path))
    assert all("split has" in f.what for f in found)
    assert [len(benchmark.tasks(split)) for split in SPLITS] == [12, 12, 12]


def test_the_sample_is_drawn_by_its_script(tmp_path: Path) -> None:
    assert SPEC.sample is not None
    assert_drawn_by("make_babyvision.py", SPEC.sample, tmp_path / "drawn")
    assert sum(p.stat().st_size for p in SPEC.sample.rglob("*") if p.is_file()) < 200_000


def hub(folder: Path, rows: list[dict[str, Any]]) -> str:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({
        "taskId": datasets.Value("int64"),
        "subtype": datasets.Value("string"),
        "question": datasets.Value("string"),
        "image": datasets.Image(),
        "ansType": datasets.Value("string"),
        "options": datasets.List(datasets.Value("string")),
        "choiceAns": datasets.Value("int64"),
        "blankAns": datasets.Value("string"),
    })
    full = [dict.fromkeys(features) | r for r in rows]
    folder.mkdir()
    datasets.Dataset.from_list(full, features=features).to_parquet(folder / "train.parquet")
    return str(folder)


def hub_row(number: int, **more: Any) -> dict[str, Any]:
    return {
        "taskId": number,
        "subtype": "Lines",
        "question": f"Which one is number {number}?",
        "image": {"bytes": png(number), "path": None},
        "ansType": "choice",
        "options": list(OPTIONS),
        "choiceAns": number % 3,
        **more,
    }


def test_preparing_writes_pictures_and_plain_answers(tmp_path: Path) -> None:
    rows = [hub_row(n) for n in range(18)]
    rows += [
        hub_row(18, ansType="blank", options=[], choiceAns=None, blankAns="red | blue"),
        hub_row(19, ansType="blank", options=[], choiceAns=None, blankAns=None),
        hub_row(20, image=None),
    ]
    source = hub(tmp_path / "hub", rows)
    folder = tmp_path / "data/babyvision"
    assert prepare(folder, dataset=source) == {"train": 4, "selection": 2, "test": 13}
    about = json.loads((folder / "split_manifest.json").read_text())
    assert about["left_out"] == {"without a usable answer": 1, "without a picture": 1}
    assert about["choice_numbers"] == "whole numbers in choiceAns count from 0"
    benchmark = SPEC.open(BenchmarkRequest(data_root=tmp_path / "data"))
    tasks = {task.id: task for split in SPLITS for task in benchmark.tasks(split)}
    assert set(tasks) == {str(n) for n in range(19)}
    assert answer_of(tasks["4"]) == "blue dog"
    assert answer_of(tasks["18"]) == "red | blue"
    assert Path(benchmark.brief(tasks["4"]).images[0].path).read_bytes() == png(4)
    assert "choiceAns" not in benchmark.source
    ids = write_splits(tmp_path / "ids", [{"taskId": 5}], [{"id": "3"}], [{"taskId": "18"}])
    assert prepare(tmp_path / "own", ids, dataset=source) == {
        "train": 1,
        "selection": 1,
        "test": 1,
    }
    assert [p.name for p in sorted((tmp_path / "own/images").iterdir())] == [
        "18.png",
        "3.png",
        "5.png",
    ]


def test_preparing_refuses_what_does_not_fit(tmp_path: Path) -> None:
    source = hub(tmp_path / "hub", [hub_row(0), hub_row(1)])
    with pytest.raises(DataError, match="2 usable records, too few for three splits"):
        prepare(tmp_path / "data", dataset=source)
    ids = write_splits(tmp_path / "ids", [{"taskId": 7}], [{"taskId": 0}], [{"taskId": 1}])
    with pytest.raises(DataError, match="lacks 1 of the 3 wanted ids: `7`"):
        prepare(tmp_path / "data", ids, dataset=source)
    text = hub_row(0, image={"bytes": b"<svg/>", "path": None})
    odd = hub(tmp_path / "odd", [text, hub_row(1), hub_row(2)])
    with pytest.raises(DataError, match="the picture of `0` is no PNG, JPEG, GIF or WebP"):
        prepare(tmp_path / "data", dataset=odd)
    assert not (tmp_path / "data/split_manifest.json").exists()
    write_json(tmp_path / "bare/train.json", [{"taskId": 1}])
    with pytest.raises(DataError, match=f"has no field `{FIELDS[1]}`"):
        prepare(tmp_path / "data", dataset=str(tmp_path / "bare"))
