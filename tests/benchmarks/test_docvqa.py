"""DocVQA: files in their published forms, briefs, scores, and the sample."""

from __future__ import annotations

import csv
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pictures_for_tests import assert_drawn_by, put
from task_files import write_json, write_splits

from skillopt_cli.backends.chat_agent import ChatAgent
from skillopt_cli.benchmarks.docvqa import SPEC
from skillopt_cli.benchmarks.kit.data_check import check_data
from skillopt_cli.benchmarks.kit.tools import AGAIN
from skillopt_cli.core.episode import Heard, ToolCall
from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import SPLITS, Attempt, ChatReply, ChatRequest, Ending, Task
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import Benchmark, BenchmarkRequest, Interactive
from skillopt_cli.testing import check_benchmark


def record(name: str, **more: Any) -> dict[str, Any]:
    return {
        "questionId": name,
        "question": f"What is {name}?",
        "answers": [f"thing {name}"],
        "image_path": "page.png",
        **more,
    }


def opened(folder: Path, first: dict[str, Any], **options: Any) -> Benchmark:
    """Splits of one task each, in files of JSON, with the same page in each folder."""
    write_splits(folder, [first], [record("v")], [record("t")])
    for split in ("train", "val", "test"):
        put(folder / split / "page.png")
    return SPEC.open(BenchmarkRequest(split_dir=folder, options=options))


def first(benchmark: Benchmark) -> Task:
    return benchmark.tasks("train")[0]


def write_csv(path: Path, rows: list[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


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


def test_the_sample_has_every_kind_in_every_split(sample: Benchmark) -> None:
    kinds = [{task.kind for task in sample.tasks(split)} for split in SPLITS]
    assert kinds == [{"form", "table/list", "free_text", "figure/diagram", "layout"}] * 3


def test_the_script_draws_the_sample(tmp_path: Path) -> None:
    assert SPEC.sample is not None
    assert_drawn_by("make_docvqa.py", SPEC.sample, tmp_path)


def test_a_brief_holds_question_and_page_and_no_reference(tmp_path: Path) -> None:
    benchmark = opened(tmp_path, record("a", answers=["the secret"]), image_detail="high")
    brief = benchmark.brief(first(benchmark))
    assert brief.prompt == "## Question\nWhat is a?"
    (page,) = brief.images
    assert (page.media_type, page.detail) == ("image/png", "high")
    assert page.digest == sha256(Path(page.path).read_bytes()).hexdigest()
    assert "secret" not in repr(brief)
    assert str(tmp_path) not in repr(first(benchmark))


def test_the_published_csv_is_read(tmp_path: Path) -> None:
    for split, name in (("train", "1"), ("val", "2"), ("test", "3")):
        row = {
            "questionId": name,
            "question": f"What is it? document_path: pages/q{name}_d9.png",
            "answer": "['1,200', \"it's 1.50\"]",
            "image_path": "",
            "topic": "table/list",
            "docId": "9",
        }
        other = {**row, "questionId": f"{name}9", "answer": "1,200", "topic": ""}
        other["question"] = f"And {name}?"
        other["image_path"] = f"pages/q{name}_d9.png"
        write_csv(tmp_path / split / "data.csv", [row, other])
        put(tmp_path / split / "pages" / f"q{name}_d9.png", int(name))
    benchmark = SPEC.open(BenchmarkRequest(split_dir=tmp_path))
    listed, plain = benchmark.tasks("train")
    assert (listed.id, listed.kind, plain.id, plain.kind) == ("1", "table/list", "19", "document")
    assert listed.data["question"] == "What is it?"
    assert listed.data["answers"] == ["1,200", "it's 1.50"]
    assert plain.data["answers"] == ["1,200"]


def test_the_published_csv_is_cut_by_ratio(tmp_path: Path) -> None:
    rows = [
        {
            "questionId": str(n),
            "question": f"What is {n}?",
            "answer": "1,200",
            "image_path": "p.png",
        }
        for n in range(10)
    ]
    write_csv(tmp_path / "all" / "validation.csv", rows)
    put(tmp_path / "all" / "p.png")
    benchmark = SPEC.open(BenchmarkRequest(data_path=tmp_path / "all"))
    assert [len(benchmark.tasks(split)) for split in SPLITS] == [2, 1, 7]
    assert first(benchmark).data["answers"] == ["1,200"]


@pytest.mark.parametrize(
    ("more", "answers", "kind"),
    [
        ({"answers": None, "answer": "a"}, ["a"], "document"),
        ({"answers": None, "ground_truth": "a", "category": "x"}, ["a"], "x"),
        ({"answers": [], "answer": "a", "topic": "y", "category": "x"}, ["a"], "y"),
        ({"answers": "1,200"}, ["1,200"], "document"),
        ({"answers": {"answers": [{"text": "a"}]}}, ["a"], "document"),
        ({"question_types": ["form", "layout"]}, ["thing a"], "form"),
    ],
)
def test_other_forms_are_read(
    tmp_path: Path, more: dict[str, Any], answers: list[str], kind: str
) -> None:
    task = first(opened(tmp_path, record("a", **more)))
    assert (task.data["answers"], task.kind) == (answers, kind)


def test_ids_may_be_numbers_or_stand_under_id(tmp_path: Path) -> None:
    assert first(opened(tmp_path, record("", questionId=49153))).id == "49153"
    assert first(opened(tmp_path, record("", questionId=None, id="x"))).id == "x"


def test_questions_without_an_answer_are_left_out_and_told_of(tmp_path: Path) -> None:
    opened(tmp_path, record("a"))
    write_json(tmp_path / "test" / "items.json", [record("t"), record("u", answers=[])])
    benchmark = SPEC.open(BenchmarkRequest(split_dir=tmp_path))
    assert benchmark.source.endswith("1 record left out: without an answer)")


def test_pages_are_found_where_published_lists_have_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "data/docvqa_images/q1_d2.png"
    put(tmp_path / "run" / name)
    monkeypatch.chdir(tmp_path / "run")
    task = first(opened(tmp_path / "splits", record("a", image_path=name)))
    assert task.data["image"]["name"] == "q1_d2.png"
    put(tmp_path / "elsewhere" / "p.png", 3)
    root = str(tmp_path / "elsewhere")
    there = record("a", image_path="p.png")
    assert first(opened(tmp_path / "more", there, image_root=root)).data["image"]["name"] == "p.png"


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        ({"image_path": "gone.png"}, "the picture `gone.png` is not there"),
        ({"image_path": "text.png"}, "the picture `text.png` is no PNG, JPEG, GIF or WebP"),
        ({"image_path": ""}, "names no picture"),
        ({"questionId": "", "id": None}, "`id` is missing"),
        ({"question": " "}, "`question` is empty"),
        ({"question": "document_path: page.png"}, "`question` is empty"),
    ],
)
def test_what_is_unusable_is_refused(tmp_path: Path, broken: dict[str, Any], what: str) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "text.png").write_text("no page", encoding="utf-8")
    with pytest.raises(DataError, match=f"train.items.json, record 1: .*{what}") as caught:
        opened(tmp_path, record("a", **broken))
    looked = (caught.value.hint or "").removeprefix("looked in ").split(", ")
    assert len(looked) == len(set(looked))


def test_a_list_of_ids_says_how_it_is_filled(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        opened(tmp_path, {"questionId": "1", "docId": 2})
    assert "data prepare docvqa --manifest-dir" in caught.value.hint


def test_one_question_on_one_page_may_not_stand_in_two_splits(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="train and selection share a task"):
        opened(tmp_path, record("a", question="What is v?"))


def test_an_unknown_option_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="image_detial"):
        opened(tmp_path, record("a"), image_detial="high")
    with pytest.raises(ConfigError, match="image_detail"):
        opened(tmp_path, record("a"), image_detail="huge")


@pytest.mark.parametrize(
    ("reply", "hard", "soft"),
    [
        ("<answer>Aldbury</answer>", 1.0, 1.0),
        ("The form says:\n<answer>aldbury</answer> as can be seen", 1.0, 1.0),
        ("<answer>Corvey</answer> no: <answer>Aldbury</answer>", 1.0, 1.0),
        ("<answer>Aldbary</answer>", 0.0, 1 - 1 / 7),
        ("It is the first one.\nAldbury", 1.0, 1.0),
        ("It is Aldbury, I think", 0.0, 0.0),
        ("", 0.0, 0.0),
    ],
)
async def test_scores(tmp_path: Path, reply: str, hard: float, soft: float) -> None:
    benchmark = opened(tmp_path, record("a", answers=["Aldbury"]))
    score = await benchmark.score(first(benchmark), Attempt(reply))
    assert (score.hard, score.soft) == (hard, pytest.approx(soft))
    assert (score.feedback == "") == (hard == 1.0)


async def test_giving_up_scores_nothing(tmp_path: Path) -> None:
    benchmark = opened(tmp_path, record("a"))
    ending: Ending = "gave_up"
    score = await benchmark.score(first(benchmark), Attempt("thing a", ending=ending))
    assert (score.hard, score.soft, score.feedback) == (0.0, 0.0, "no answer was given")


async def test_a_reply_without_a_marked_answer_is_asked_for_again(tmp_path: Path) -> None:
    benchmark = opened(tmp_path, record("a"), max_turns=3)
    assert isinstance(benchmark, Interactive)
    task = first(benchmark)
    assert benchmark.brief(task).max_turns == 3
    executor = LocalExecutor(tmp_path)
    async with benchmark.episode(task, executor) as episode:
        assert await episode.hear("I think it is thing a") == Heard(AGAIN)
        assert await episode.hear("<answer>thing a</answer>") is None
    async with benchmark.episode(task, executor) as episode:
        heard = [await episode.hear("thing a") for _ in range(3)]
        assert heard == [Heard(AGAIN), Heard(AGAIN), None]
        assert (await episode.use(ToolCall("1", "look", "{}"))).failed
        assert await episode.outcome("thing a") == {}


async def test_by_default_the_first_reply_counts(tmp_path: Path) -> None:
    benchmark = opened(tmp_path, record("a"))
    assert isinstance(benchmark, Interactive)
    async with benchmark.episode(first(benchmark), LocalExecutor(tmp_path)) as episode:
        assert await episode.hear("thing a") is None
    with pytest.raises(ConfigError, match="max_turns"):
        opened(tmp_path, record("a"), max_turns=0)


async def test_a_model_is_shown_its_reply_and_asked_again(tmp_path: Path) -> None:
    class Forgetful:
        name, fingerprint, offers = "m", "m", frozenset({"images"})
        seen: ClassVar[list[ChatRequest]] = []

        async def chat(self, request: ChatRequest) -> ChatReply:
            self.seen.append(request)
            return ChatReply("<answer>thing a</answer>" if request.turn else "Let me see")

    benchmark = opened(tmp_path, record("a"), max_turns=4)
    assert isinstance(benchmark, Interactive)
    task, executor, chat = first(benchmark), LocalExecutor(tmp_path), Forgetful()
    async with benchmark.episode(task, executor) as episode:
        brief = replace(benchmark.brief(task), episode=episode)
        made = await ChatAgent(chat).attempt(brief, SkillDocument(""), executor)
    assert (await benchmark.score(task, made)).hard == 1.0
    assert [m.content for m in chat.seen[-1].messages[2:]] == ["Let me see", AGAIN]
    assert len(chat.seen) == 2
    assert [len(m.images) for m in chat.seen[-1].messages] == [0, 1, 0, 0]
