"""MMRB: the release's files, marks, briefs, preparing, and the sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pictures_for_tests import assert_drawn_by, png, put
from task_files import write_json, write_splits

from skillopt_cli.backends.chat.images import placed
from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.benchmarks.kit.data_check import check_data
from skillopt_cli.benchmarks.mmrb import SPEC
from skillopt_cli.benchmarks.mmrb.prepare import prepare
from skillopt_cli.benchmarks.mmrb.tasks import marked_images, with_marks
from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.core.task import SPLITS, Attempt, Image, Message, Task
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import Benchmark, BenchmarkRequest, Interactive
from skillopt_cli.testing import check_benchmark

GONE = ["images/1.png", "images/9.png"]


def record(index: int, **more: Any) -> dict[str, Any]:
    return {
        "source": "bench",
        "subtask": "Ordering",
        "index": index,
        "question_type": "open",
        "question": f"What is in {{image#1}} and {{image#2}}, number {index}?",
        "options": [],
        "answer": f"thing {index}",
        "image_paths": ["./images/1.png", "./images/2.png"],
        "reasoning_steps": [["look"], ["think"]],
        **more,
    }


def choice(index: int, options: list[str], answer: str, **more: Any) -> dict[str, Any]:
    kind = {"question_type": "multi-choice", "options": options, "answer": answer}
    return record(index, **{**kind, **more})


def release(folder: Path, *records: dict[str, Any]) -> Path:
    """Three folders as in the release, each with its pictures; the records are in the first."""
    fill = ([record(90)], [record(91)])
    for number, part in enumerate((list(records), *fill), 1):
        place = folder / f"00{number}_Task"
        write_json(place / f"00{number}_steps_{number}_human.json", part)
        write_json(place / f"00{number}_raw.json", [{"no": "record"}])
        for shade in (1, 2, 3):
            put(place / "images" / f"{shade}.png", shade)
    return folder


def opened(folder: Path, **options: Any) -> Benchmark:
    return SPEC.open(BenchmarkRequest(data_path=folder, split_ratio="1:1:1", options=options))


def tasks(benchmark: Benchmark) -> dict[str, Task]:
    return {task.id: task for split in SPLITS for task in benchmark.tasks(split)}


@pytest.fixture
def sample(tmp_path: Path) -> Benchmark:
    return SPEC.open(BenchmarkRequest(data_root=tmp_path))


async def test_the_bundled_sample_keeps_the_contract(sample: Benchmark) -> None:
    assert sample.source == "bundled sample (12 train / 12 selection / 12 test)"
    await check_benchmark(sample)


async def test_the_bundled_sample_has_no_faults(sample: Benchmark, tmp_path: Path) -> None:
    found = await check_data(sample, LocalExecutor(tmp_path), at_most=1000)
    assert [f.what for f in found if f.level == "error"] == []
    assert all("split has 12 tasks" in f.what for f in found if f.level == "warning")


def test_the_script_draws_the_sample(tmp_path: Path) -> None:
    assert SPEC.sample is not None
    assert_drawn_by("make_mmrb.py", SPEC.sample, tmp_path)


def test_each_split_of_the_sample_has_each_kind_and_each_letter(sample: Benchmark) -> None:
    for split in SPLITS:
        part = sample.tasks(split)
        assert len({task.kind for task in part}) == 6
        assert {task.data["answer"] for task in part} >= set("ABCD")
        assert all(2 <= len(task.data["images"]) <= 5 for task in part)


def test_the_release_is_read_with_ids_and_kinds(tmp_path: Path) -> None:
    benchmark = opened(release(tmp_path, record(0), record(1, subtask="", id=7)))
    found = tasks(benchmark)
    assert sorted(found) == ["7", "bench:Ordering:0", "bench:Ordering:90", "bench:Ordering:91"]
    assert {found["7"].kind, found["bench:Ordering:0"].kind} == {"multi-image", "Ordering"}
    data = found["bench:Ordering:0"].data
    assert [image["name"] for image in data["images"]] == ["1.png", "2.png"]
    assert "think" not in json.dumps(data)


def test_a_file_of_the_release_may_hold_nothing_usable(tmp_path: Path) -> None:
    folder = release(tmp_path, record(0))
    write_json(folder / "004_Other" / "004_steps_human.json", [record(5, answer="")])
    assert opened(folder).source.endswith("1 record left out: without a usable answer)")


@pytest.mark.parametrize(
    ("texts", "wanted", "numbers"),
    [
        (("a {image#1} b {image#2}",), ("a [image 1] b [image 2]",), (1, 2)),
        (("{image#2}{Image # 1}",), ("[image 2][image 1]",), (2, 1)),
        (("a <image> b <image>", "<image>"), ("a [image 1] b [image 2]", "[image 3]"), (1, 2, 3)),
        (("{image#2} and <image>",), ("[image 2] and <image>",), (2,)),
        (("{image#1} {image#1}",), ("[image 1] [image 1]",), (1,)),
        (("nothing",), ("nothing",), ()),
    ],
)
def test_marks(texts: tuple[str, ...], wanted: tuple[str, ...], numbers: tuple[int, ...]) -> None:
    assert (with_marks(texts), marked_images(wanted)) == (wanted, numbers)


def shown(benchmark: Benchmark, task_id: str) -> list[str]:
    """What is sent, with a picture as its shade."""
    brief = benchmark.brief(tasks(benchmark)[task_id])
    parts = placed(Message("user", brief.prompt, brief.images))
    shades = {png(n): f"<{n}>" for n in range(4)}
    return [shades[Path(p.path).read_bytes()] if isinstance(p, Image) else p for p in parts]


def test_pictures_are_sent_where_their_marks_are(tmp_path: Path) -> None:
    three = ["images/3.png", "images/2.png", "images/1.png"]
    question = "Is {image#2} like this? A: {image#1} B: no"
    one = choice(0, ["A: {image#1}", "B: no"], "B", question=question, image_paths=three)
    assert shown(opened(release(tmp_path, one)), "bench:Ordering:0") == [
        "## Question\nIs [image 2]",
        "<2>",
        " like this?\n\n## Choices\nA. [image 1]",
        "<3>",
        "\nB. no\n\n## Pictures\n[image 3]",
        "<1>",
    ]


def test_a_brief_holds_no_reference(tmp_path: Path) -> None:
    benchmark = opened(release(tmp_path, record(0, answer="the secret")), image_detail="low")
    brief = benchmark.brief(tasks(benchmark)["bench:Ordering:0"])
    assert "secret" not in repr(brief)
    assert [image.detail for image in brief.images] == ["low", "low"]
    assert brief.prompt == "## Question\nWhat is in [image 1] and [image 2], number 0?"


@pytest.mark.parametrize(
    ("options", "answer", "choices", "right"),
    [
        (["A: red", "B: blue"], "B", ["red", "blue"], "B"),
        (["(A) red", "(B) blue"], "(B)", ["red", "blue"], "B"),
        (["A. red", "B. blue"], "blue", ["red", "blue"], "B"),
        (["red", "blue"], "Blue", ["red", "blue"], "B"),
        (["A", "B", "C"], "C", ["A", "B", "C"], "C"),
        ([], "B", [], "B"),  # the options are in the text, or in a picture
        ([], "b)", [], "B"),
    ],
)
def test_options(
    tmp_path: Path, options: list[str], answer: str, choices: list[str], right: str
) -> None:
    task = tasks(opened(release(tmp_path, choice(0, options, answer))))["bench:Ordering:0"]
    assert (task.data["choices"], task.data["answer"]) == (choices, right)
    assert task.data["lettered"]


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("Which? A: red B: blue", "Which?"),
        ("Which?\nA: red\nB: blue\n", "Which?"),
        ("Which? A: red B: blue Say why.", "Which? A: red B: blue Say why."),
        ("A: red or not? A: red B: blue", "A: red or not?"),
        ("A: red B: blue", "A: red B: blue"),
    ],
)
def test_options_at_the_end_of_a_question_are_shown_once(
    tmp_path: Path, question: str, left: str
) -> None:
    one = choice(0, ["A: red", "B: blue"], "B", question=question)
    task = tasks(opened(release(tmp_path, one)))["bench:Ordering:0"]
    assert task.data["question"] == left


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"image_paths": []}, "without pictures"),
        ({"image_paths": None}, "without pictures"),
        ({"answer": ""}, "without a usable answer"),
        ({"answer": None}, "without a usable answer"),
        ({"options": ["A: red", "B: blue"], "answer": "E"}, "without a usable answer"),
        ({"options": ["A: red", "B: red"], "answer": "A"}, "whose options cannot be told apart"),
        ({"options": "A or B", "answer": "A"}, "whose options cannot be told apart"),
        ({"question": "{image#3}?"}, "with a mark of a picture it does not have"),
    ],
)
def test_what_cannot_be_used_is_left_out_and_told_of(
    tmp_path: Path, more: dict[str, Any], why: str
) -> None:
    benchmark = opened(release(tmp_path, record(0), record(1, **more)))
    assert benchmark.source.endswith(f"1 record left out: {why})")


@pytest.mark.parametrize(
    ("records", "what"),
    [
        ([record(0, image_paths=GONE)], "the picture `images/9.png` is not there"),
        ([record(0), record(0)], "the id `bench:Ordering:0` occurs twice"),
        ([record(0, source=None)], "`id` is missing"),
        ([record(0, question="")], "`question` is empty"),
    ],
)
def test_what_is_broken_is_refused(
    tmp_path: Path, records: list[dict[str, Any]], what: str
) -> None:
    with pytest.raises(DataError, match=what):
        opened(release(tmp_path, *records))


def test_splits_are_read_as_the_release_is(tmp_path: Path) -> None:
    one = choice(0, ["A: red", "B: blue"], "A", question="{image#2}? A: red B: blue")
    write_splits(tmp_path, [one], [record(1)], [record(2)])
    for split in ("train", "val", "test"):
        for shade in (1, 2):
            put(tmp_path / split / "images" / f"{shade}.png", shade)
    benchmark = SPEC.open(BenchmarkRequest(split_dir=tmp_path))
    assert shown(benchmark, "bench:Ordering:0")[0] == "## Question\n[image 2]"


async def test_an_option_brings_the_published_matching_back(tmp_path: Path) -> None:
    folder = release(tmp_path, record(0, answer="12"))
    scores = []
    for options in ({}, {"matching": "published"}):
        benchmark = opened(folder, **options)
        task = tasks(benchmark)["bench:Ordering:0"]
        scores.append((await benchmark.score(task, Attempt("<answer>1</answer>"))).hard)
        assert (await benchmark.score(task, Attempt("Answer[12]"))).hard == 1.0
        assert (await benchmark.score(task, Attempt("12", ending="gave_up"))).hard == 0.0
    assert scores == [0.0, 1.0]
    assert opened(folder).version != opened(folder, matching="published").version
    with pytest.raises(ConfigError, match="matching"):
        opened(folder, matching="loose")


def test_the_release_is_prepared_with_its_pictures(tmp_path: Path) -> None:
    options = ["A: {image#2}", "B: no"]
    question = "Like {image#1}? A: {image#2} B: no"
    one = choice(0, options, "A", question=question)
    folder = release(tmp_path / "release", one, record(1, answer=None), record(2), record(3))
    counts = prepare(tmp_path / "data" / "mmrb", dataset=str(folder))
    assert counts == {"train": 1, "selection": 1, "test": 3}
    about = json.loads((tmp_path / "data" / "mmrb" / "split_manifest.json").read_text("utf-8"))
    assert about["left_out"] == {"without a usable answer": 1}
    prepared = SPEC.open(BenchmarkRequest(data_root=tmp_path / "data"))
    raw = opened(folder)
    assert shown(prepared, "bench:Ordering:0") == shown(raw, "bench:Ordering:0")
    for task_id, task in tasks(prepared).items():
        same = {**task.data, "images": [image["digest"] for image in task.data["images"]]}
        other = tasks(raw)[task_id].data
        assert same == {**other, "images": [image["digest"] for image in other["images"]]}


def test_a_list_of_ids_is_filled(tmp_path: Path) -> None:
    folder = release(tmp_path / "release", record(0), record(1))
    named = {"source": "bench", "subtask": "Ordering", "index": 1}
    ids = write_splits(
        tmp_path / "ids", [named], [{"id": "bench:Ordering:90"}], [{"id": "bench:Ordering:0"}]
    )
    prepare(tmp_path / "out", ids, dataset=str(folder))
    benchmark = SPEC.open(BenchmarkRequest(split_dir=tmp_path / "out"))
    assert [task.id for split in SPLITS for task in benchmark.tasks(split)] == [
        "bench:Ordering:1",
        "bench:Ordering:90",
        "bench:Ordering:0",
    ]


def test_what_cannot_be_prepared_is_said(tmp_path: Path) -> None:
    write_json(tmp_path / "zipped" / "all.json", [])
    with pytest.raises(DataError, match=r"has no file `\*_human.json`") as caught:
        prepare(tmp_path / "out", dataset=str(tmp_path / "zipped"))
    assert "env.data_path" in caught.value.hint
    gone = release(tmp_path / "gone", record(0, image_paths=GONE))
    with pytest.raises(DataError, match=r"the picture `images/9.png` is not there"):
        prepare(tmp_path / "out", dataset=str(gone))
    assert not (tmp_path / "out" / "split_manifest.json").exists()


def test_the_simulated_target_takes_pictures() -> None:
    assert SPEC.open(BenchmarkRequest()).needs <= Simulated.offers


@pytest.mark.parametrize(
    ("reply", "over"),
    [("Answer[A]", True), ("\\boxed{A}", True), ("<answer>A</answer>", True), ("It is A", False)],
)
async def test_any_marked_answer_ends_the_looking(tmp_path: Path, reply: str, over: bool) -> None:
    benchmark = opened(release(tmp_path, record(0)), max_turns=2)
    assert isinstance(benchmark, Interactive)
    task = tasks(benchmark)["bench:Ordering:0"]
    assert benchmark.brief(task).max_turns == 2
    async with benchmark.episode(task, LocalExecutor(tmp_path)) as episode:
        assert (await episode.hear(reply) is None) == over
