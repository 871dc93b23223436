"""MathVerse: items of the test-mini files, and answers compared by text, algebra and judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pictures_for_tests import assert_drawn_by, png, put
from task_files import write_json, write_splits

from skillopt_cli.benchmarks.kit.data_check import check_data
from skillopt_cli.benchmarks.mathverse import SPEC, benchmark
from skillopt_cli.benchmarks.mathverse.prepare import prepare
from skillopt_cli.benchmarks.mathverse.scoring import answered, clear_score
from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.core.score import Private, Score
from skillopt_cli.core.task import SPLITS, Attempt, Task
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import Benchmark, BenchmarkRequest, Judged
from skillopt_cli.testing import check_benchmark

CHOICE = {"choices": ["40°", "50°", "60°", "70°"], "right": 1, "answer": "B"}


def free(answer: str) -> dict[str, Any]:
    return {"choices": [], "right": None, "answer": answer}


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("<answer>B</answer>", "B"),
        ("<answer>A</answer> or <answer>B</answer>", "B"),
        ("<answer>\\boxed{\\frac{1}{2}}</answer> \\boxed{9}", "\\frac{1}{2}"),
        ("So \\boxed{\\sqrt{2}} it is", "\\sqrt{2}"),
        ("\\boxed{1}\n\\boxed{2}\nDone.", "2"),
        ("It follows\nthat x is 5\n", "that x is 5"),
        ("<answer></answer>", ""),
        ("", ""),
    ],
)
def test_the_answer_of_a_reply(reply: str, answer: str) -> None:
    assert answered(reply) == answer


@pytest.mark.parametrize(
    ("data", "answer", "hard"),
    [
        (CHOICE, "B", 1.0),
        (CHOICE, "b", 1.0),
        (CHOICE, "B.", 1.0),
        (CHOICE, "B):", 1.0),
        (CHOICE, "(B)", 1.0),
        (CHOICE, "**B**", 1.0),
        (CHOICE, "Option B", 1.0),
        (CHOICE, "\\text{B}", 1.0),
        (CHOICE, "B: 50°", 1.0),
        (CHOICE, "50°", 1.0),
        (CHOICE, "A", 0.0),
        (CHOICE, "B: 40°", 0.0),
        (CHOICE, "A or B", 0.0),
        (CHOICE, "E", 0.0),
        (CHOICE, "", 0.0),
        (free("5"), "", 0.0),
        (free("5"), "$5$", 1.0),
        (free("5"), "5.", 1.0),
        (free("5"), "6", None),
        (free("5"), "five", None),
        (free("5"), "4 or 5", None),
        (free("5"), "4, 5", None),
        (free(".5"), "5", None),
        (free("2\\sqrt{3}"), "\\sqrt{12}", 1.0),
        (free("2\\sqrt{3}"), "$ 2 \\sqrt{3} $", 1.0),
        (free("2\\sqrt{3}"), "3\\sqrt{2}", None),
        (free("\\frac{1}{2}"), "0.5", 1.0),
        (free("\\frac{1}{2}"), "2/4", 1.0),
        (free("\\frac{1}{23}"), "\\frac{12}{3}", None),
        (free("65^{\\circ}"), "65", 1.0),
        (free("65°"), "65^\\circ", 1.0),
        (free("5cm"), "5", 1.0),
        (free("5 cm"), "5 \\mathrm{cm}", 1.0),
        (free("5 cm"), "5 m", None),
        (free("1,200"), "1200", 1.0),
        (free("50"), "50%", None),
        (free("50%"), "50\\%", 1.0),
        (free("x=3"), "3", 1.0),
        (free("y=2x+1"), "y=1+2x", 1.0),
        (free("(1,2)"), "(2,1)", None),
        (free("(0,1)"), "[0,1]", None),
        (free("9\\pi"), "28.27", None),
        (free("-3"), "3", None),
        (free("\\frac{"), "3", None),
        (free("9^{9^{9^{9}}}"), "3", None),
        (free("3"), "x" * 5000, None),
        (free("Yes"), "yes", 1.0),
        # Only an equation that names its right side means that side.
        (free("x+y=3"), "3", None),
        (free("2x=6"), "6", None),
        (free("3"), "x+y=3", None),
        (free("\\angle A=30^\\circ"), "30", 1.0),
        (free("f(x)=x^2"), "x^2", 1.0),
        # Of several values the order may matter; of a set it does not.
        (free("3, 4"), "4, 3", None),
        (free("3, 4"), "3,4", 1.0),
        (free("x=1, y=2"), "x=2, y=1", None),
        (free("(1,2), (3,4)"), "(3,4), (1,2)", None),
        (free("1/2, 1/3"), "0.5, \\frac13", 1.0),
        (free("\\{3,4\\}"), "\\{4,3\\}", 1.0),
        (free("1,200, 5"), "1200, 5", 1.0),
        # A prime, and a letter that may be a unit or a factor.
        (free("A'"), "A", None),
        (free("2m"), "2", None),
        (free("2"), "2m", None),
        (free("2 m"), "2", 1.0),
        (free("2\\text{ m}"), "2", 1.0),
        (free("2m"), "2m", 1.0),
    ],
)
def test_what_needs_no_judge(data: dict[str, Any], answer: str, hard: float | None) -> None:
    pytest.importorskip("math_verify")
    score = clear_score(data, answer, "algebra")
    assert (None if score is None else score.hard) == hard
    if score is not None:
        assert score.soft == score.hard
        assert bool(score.feedback) is (hard == 0.0)


@pytest.mark.parametrize(
    ("reference", "answer", "same"),
    [
        ("$5$", "5", True),
        ("5 \\mathrm{cm}", "5 CM", True),
        ("a~b\\,c", "ABC", True),
        ("2\\sqrt{3}", "\\sqrt{12}", False),
        ("\\frac{1}{23}", "\\frac{12}{3}", True),  # what dropping braces does
    ],
)
def test_the_published_comparison(reference: str, answer: str, same: bool) -> None:
    score = clear_score(free(reference), answer, "published")
    assert (score is not None) is same


def row(number: int, **more: Any) -> dict[str, Any]:
    return {
        "sample_index": str(1000 + number),
        "problem_index": str(number),
        "problem_version": "Text Lite",
        "question": f"As shown, find the angle {number}.\nChoices:\nA:40°\nB:50°\nC:60°",
        "question_type": "multi-choice",
        "answer": "B",
        "image": f"images_{number}/a.png",
        "metadata": {"subject": "Plane Geometry", "subfield": "Angle"},
        **more,
    }


def opened(folder: Path, rows: list[dict[str, Any]], **options: Any) -> Benchmark:
    spare = [row(901), row(902)]
    for number, item in enumerate([*rows, *spare]):
        if item.get("image"):
            put(folder / "pictures" / item["image"], number)
    write_splits(folder, rows, spare[:1], spare[1:])
    more = {"image_root": str(folder / "pictures"), "equivalence": "published", **options}
    return SPEC.open(BenchmarkRequest(split_dir=folder, options=more))


def reference(task: Task) -> str:
    right = task.data["right"]
    return str(task.data["answer"] if right is None else task.data["choices"][right])


@pytest.mark.parametrize(
    ("more", "choices", "answer"),
    [
        ({}, 3, "50°"),
        ({"answer": "b."}, 3, "50°"),
        ({"answer": "B:50°"}, 3, "50°"),
        ({"answer": "50°"}, 3, "50°"),
        ({"question_type": None}, 3, "50°"),
        ({"question": "Find it.\nChoices:\n(A) 1\n(B) 2"}, 2, "2"),
        ({"question": "", "question_for_eval": "Find it.\nChoices:\nA:1\nB:2"}, 2, "2"),
        ({"question_type": "free-form", "answer": "50°"}, 0, "50°"),
        ({"question": "Find it.", "question_type": "free-form", "answer": 7}, 0, "7"),
        ({"question": "Find it.", "question_type": None, "answer": 2.5}, 0, "2.5"),
        ({"question": "Find it.", "question_type": "free-form", "answer": " x "}, 0, "x"),
    ],
)
def test_an_item_in_every_form(
    tmp_path: Path, more: dict[str, Any], choices: int, answer: str
) -> None:
    (task,) = opened(tmp_path, [row(1, **more)]).tasks("train")
    assert (task.id, task.kind) == ("1", "Plane Geometry")
    assert len(task.data["choices"]) == choices
    assert reference(task) == answer


def test_one_version_of_each_problem_is_kept_and_the_rest_told(tmp_path: Path) -> None:
    asked = row(1)["question"]
    seen = {"problem_version": "Vision Only", "question": "", "question_for_eval": asked}
    rows = [row(1), row(1, **seen, sample_index="7", image="seen.png")]
    bad = [
        row(2, image=""),
        row(3, answer=None),
        row(4, answer=" "),
        row(5, answer="Z"),
        row(6, question="No options."),
        row(7, question="Which?\nChoices:\nA:x\nB:x"),
    ]
    made = opened(tmp_path / "a", [*rows, *bad])
    assert [task.id for task in made.tasks("train")] == ["1"]
    assert "; 7 records left out: 3 without an answer, 1 of another version," in made.source
    all_of_them = opened(tmp_path / "b", rows, problem_version="")
    assert [task.id for task in all_of_them.tasks("train")] == ["1001", "7"]


def test_pictures_are_looked_for_at_the_root_in_its_images_and_beside(tmp_path: Path) -> None:
    rows = [[row(n, image=f"{n}.png")] for n in range(3)]
    write_splits(tmp_path, *rows)
    put(tmp_path / "train/images/0.png", 0)
    put(tmp_path / "root/1.png", 1)
    put(tmp_path / "root/images/2.png", 2)
    options = {"image_root": str(tmp_path / "root"), "equivalence": "published"}
    found = SPEC.open(BenchmarkRequest(split_dir=tmp_path, options=options))
    for number, split in enumerate(SPLITS):
        (image,) = found.brief(found.tasks(split)[0]).images
        assert Path(image.path).read_bytes() == png(number)
    with pytest.raises(DataError, match=r"the picture `1\.png` is not there"):
        SPEC.open(BenchmarkRequest(split_dir=tmp_path, options={"equivalence": "published"}))


def test_the_brief_shows_question_options_and_diagram(tmp_path: Path) -> None:
    rows = [row(1), row(2, question="", question_type="free-form", answer="3")]
    made = opened(tmp_path, rows, image_detail="low")
    listed, bare = (made.brief(task) for task in made.tasks("train"))
    assert listed.prompt == (
        "## Question\nAs shown, find the angle 1.\n\n## Choices\nA. 40°\nB. 50°\nC. 60°"
    )
    assert bare.prompt == "## Question\nRead the question from the picture."
    assert [image.detail for image in listed.images] == ["low"]
    assert made.version == "1-published-low"


def test_the_judge_compares_free_answers(tmp_path: Path) -> None:
    rows = [row(1, question="How far?", question_type="free-form", answer="5 \\mathrm{cm}")]
    made = opened(tmp_path, rows)
    assert isinstance(made, Judged)
    (task,) = made.tasks("train")
    attempt = Attempt("<answer>five centimetres</answer>")
    asked = made.ask_judge(task, attempt)
    assert not isinstance(asked, Score)
    assert asked[1].content == (
        "## Question\nHow far?\n\n## Reference answer\n5 \\mathrm{cm}\n\n"
        "## Answer to judge\n> five centimetres"
    )
    wanted = ("5 \\mathrm{cm}",)
    right = made.hear_judge(task, attempt, "Verdict: CORRECT")
    assert right == Score(1.0, 1.0, "", wanted, Private("Verdict: CORRECT"))
    wrong = made.hear_judge(task, attempt, "False")
    assert wrong is not None
    assert wrong.hard == 0.0
    assert "five centimetres" in wrong.feedback
    assert made.hear_judge(task, attempt, "not correct") is None


def test_choices_need_no_judge(tmp_path: Path) -> None:
    made = opened(tmp_path, [row(1)])
    assert isinstance(made, Judged)
    (task,) = made.tasks("train")
    for reply in ("<answer>B</answer>", "<answer>C</answer>", "I do not know", ""):
        assert isinstance(made.ask_judge(task, Attempt(reply)), Score)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "find_spec", lambda name: None)
    assert SPEC.missing() == "the package math-verify"
    request = BenchmarkRequest(data_root=Path("nowhere"))
    with pytest.raises(ConfigError) as caught:
        SPEC.open(request)
    assert "pip install 'skillopt-cli[math]'" in caught.value.hint
    published = BenchmarkRequest(data_root=Path("nowhere"), options={"equivalence": "published"})
    assert SPEC.open(published).tasks("train")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"equivalence": "guess"}, "env.equivalence"),
        ({"problem_versoin": "Text Lite"}, "did you mean|problem_versoin"),
    ],
)
def test_options_are_checked(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        opened(tmp_path, [row(1)], **options)


async def test_the_sample_keeps_the_contract(tmp_path: Path) -> None:
    pytest.importorskip("math_verify")
    sample = SPEC.open(BenchmarkRequest(data_root=tmp_path))
    await check_benchmark(sample)
    found = await check_data(sample, LocalExecutor(tmp_path))
    assert all("split has" in f.what for f in found)
    assert [len(sample.tasks(split)) for split in SPLITS] == [12, 12, 12]


def test_the_sample_is_drawn_by_its_script(tmp_path: Path) -> None:
    assert SPEC.sample is not None
    assert_drawn_by("make_mathverse.py", SPEC.sample, tmp_path / "drawn")
    assert sum(p.stat().st_size for p in SPEC.sample.rglob("*") if p.is_file()) < 200_000


def hub(folder: Path, rows: list[dict[str, Any]]) -> str:
    """A data set with the configuration of the real one."""
    datasets = pytest.importorskip("datasets")
    text = datasets.Value("string")
    names = ("sample_index", "problem_index", "problem_version", "question", "answer")
    features = datasets.Features({
        **dict.fromkeys((*names, "question_type", "question_for_eval"), text),
        "image": datasets.Image(),
        "metadata": {"subject": text, "subfield": text},
    })
    full = [
        dict.fromkeys(features) | r | {"image": {"bytes": png(n % 256), "path": None}}
        for n, r in enumerate(rows)
    ]
    folder.mkdir()
    datasets.Dataset.from_list(full, features=features).to_parquet(folder / "testmini.parquet")
    files = [{"split": "testmini", "path": "testmini.parquet"}]
    about = json.dumps({"configs": [{"config_name": "testmini", "data_files": files}]})
    (folder / "README.md").write_text(f"---\n{about}\n---\n")
    return str(folder)


def test_preparing_keeps_one_version_and_writes_pictures(tmp_path: Path) -> None:
    rows = [row(n, sample_index=str(2 * n)) for n in range(9)]
    rows += [row(n, sample_index=str(2 * n + 1), problem_version="Vision Only") for n in range(9)]
    rows.append(row(9, question="How far?", question_type="free-form", answer="2\\sqrt{3}"))
    source = hub(tmp_path / "hub", rows)
    folder = tmp_path / "data/mathverse"
    assert prepare(folder, dataset=source) == {"train": 2, "selection": 1, "test": 7}
    about = json.loads((folder / "split_manifest.json").read_text())
    assert about["left_out"] == {"of another version": 9}
    options = {"equivalence": "published"}
    made = SPEC.open(BenchmarkRequest(data_root=tmp_path / "data", options=options))
    tasks = {task.id: task for split in SPLITS for task in made.tasks(split)}
    assert set(tasks) == {str(n) for n in range(10)}
    assert tasks["3"].data["choices"] == ["40°", "50°", "60°"]
    assert reference(tasks["3"]) == "50°"
    assert reference(tasks["9"]) == "2\\sqrt{3}"
    assert Path(made.brief(tasks["3"]).images[0].path).read_bytes() == png(3)
    ids = write_splits(
        tmp_path / "ids", [{"problem_index": "4"}], [{"id": 5}], [{"problem_index": 9}]
    )
    assert prepare(tmp_path / "own", ids, dataset=source) == {
        "train": 1,
        "selection": 1,
        "test": 1,
    }


def test_preparing_refuses_what_does_not_fit(tmp_path: Path) -> None:
    source = hub(tmp_path / "hub", [row(n) for n in range(3)])
    ids = write_splits(tmp_path / "ids", [{"id": "x"}], [{"id": "1"}], [{"id": "2"}])
    with pytest.raises(DataError, match="lacks 1 of the 3 wanted ids: `x`"):
        prepare(tmp_path / "data", ids, dataset=source)
    write_json(tmp_path / "bare/testmini.json", [{"a": 1}])
    with pytest.raises(DataError, match="cannot load the data set"):
        prepare(tmp_path / "data", dataset=str(tmp_path / "bare"))
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("answer", ["$$", ".", "\\,", "\\text{}"])
def test_a_reference_of_nothing_but_marks_is_refused(tmp_path: Path, answer: str) -> None:
    item = row(1, answer=answer, question_type="free-form", question="Find x.")
    with pytest.raises(DataError, match="nothing of the reference"):
        opened(tmp_path, [item])
