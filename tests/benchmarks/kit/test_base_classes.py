"""The base classes of benchmarks: what a subclass of a few lines gets from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pictures_for_tests import png
from pydantic import BaseModel
from task_files import qa, write_splits

from skillopt_cli.benchmarks.kit.answers import extract_answer, tagged
from skillopt_cli.benchmarks.kit.benchmark import (
    JudgedAnswers,
    PictureBenchmark,
    RetriedAnswers,
    TextBenchmark,
    ToolBenchmark,
)
from skillopt_cli.benchmarks.kit.options import BenchmarkOptions
from skillopt_cli.benchmarks.kit.pictures import PictureOptions
from skillopt_cli.benchmarks.kit.prompts import Prompts
from skillopt_cli.benchmarks.kit.records import LeftOut, Record
from skillopt_cli.benchmarks.kit.tools import Offer
from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Section, Task
from skillopt_cli.ports import BenchmarkRequest, Interactive, Judged
from skillopt_cli.testing import check_benchmark

PROMPTS = Prompts(
    role="You answer.",
    answer_format="In tags.",
    seed_skill="# Seed\n",
    rubric="You grade.",
    failures="Kinds of failures.",
    successes="Kinds of successes.",
)


class NamesOptions(BenchmarkOptions):
    shout: bool = False


class Names(TextBenchmark[NamesOptions]):
    name = "names"
    prompts = PROMPTS
    options_type = NamesOptions

    def task(self, record: Record) -> Task:
        if record.data["question"] == "skip":
            raise LeftOut("without a question")
        question = record.text("question")
        data = {
            "question": question.upper() if self.options.shout else question,
            "answers": record.texts("answers"),
        }
        return Task(record.identifier(), "name", data)

    def sections(self, task: Task) -> Sequence[Section]:
        return [Section("Question", task.data["question"])]

    def expected(self, task: Task) -> tuple[str, ...]:
        return tuple(task.data["answers"])

    def score_attempt(self, task: Task, attempt: Attempt) -> Score:
        right = extract_answer(attempt.answer) in self.expected(task)
        return Score(float(right), float(right), "" if right else "no", self.expected(task))


class JudgedNames(JudgedAnswers[NamesOptions], Names):
    def answered(self, reply: str) -> str:
        return extract_answer(reply)

    def clear_score(self, task: Task, answer: str) -> Score | None:
        if answer in self.expected(task):
            return Score(1.0, 1.0, expected=self.expected(task))
        return None if answer else Score(0.0, 0.0, "empty", self.expected(task))

    def question_for_judge(self, task: Task) -> str:
        return str(task.data["question"])


class RetriedNames(RetriedAnswers[NamesOptions], Names):
    max_turns = 3

    def marked(self, reply: str) -> bool:
        return tagged(reply) is not None


class No(BaseModel):
    """No arguments."""


async def looked_up(_: No) -> str:
    return "nothing found"


class ToolNames(ToolBenchmark[NamesOptions], Names):
    max_turns = 5
    needs = frozenset({"tools"})

    def offers(self, task: Task) -> Sequence[Offer[Any]]:
        return [] if task.id == "d" else [Offer("look", "Look up.", No, looked_up)]


class Shown(PictureBenchmark[PictureOptions]):
    name = "shown"
    prompts = PROMPTS
    options_type = PictureOptions

    def task(self, record: Record) -> Task:
        data = {
            "question": record.text("question"),
            "choices": ["red", "blue"],
            "right": 1,
            "image": self.pictures.add(record, record.text("image")),
        }
        return Task(record.identifier(), "picture", data)

    def score_attempt(self, task: Task, attempt: Attempt) -> Score:
        return Score(0.0, 0.0, "no", self.expected(task))


def opened(kind: type[TextBenchmark[Any]], folder: Path, **options: Any) -> Any:
    write_splits(folder, [qa("a"), qa("b")], [qa("c")], [qa("d")])
    return kind.open(BenchmarkRequest(split_dir=folder, options=options))


def test_a_spec_repeats_what_the_class_holds() -> None:
    spec = Names.spec("names of things", judged=True, modality=("text", "code"))
    assert (spec.name, spec.summary) == ("names", "names of things")
    assert spec.option_names == {"shout"}
    assert (spec.judged, spec.modality, spec.sample) == (True, ("text", "code"), None)
    assert "Kinds of failures." in spec.prompts["analyst_error"]
    assert "Kinds of successes." in spec.prompts["analyst_success_full"]


def test_without_fields_and_paragraphs_there_are_neither_options_nor_prompts() -> None:
    class Plain(Names):
        options_type = BenchmarkOptions  # type: ignore[assignment]
        prompts = Prompts(role="You answer.", seed_skill="# Seed\n")

    spec = Plain.spec("plain")
    assert (spec.options, dict(spec.prompts)) == (None, {})


@pytest.mark.parametrize("kind", [Names, RetriedNames, ToolNames])
async def test_the_bases_keep_the_contract(kind: type[Names], tmp_path: Path) -> None:
    await check_benchmark(opened(kind, tmp_path))


async def test_a_brief_holds_prompts_and_sections(tmp_path: Path) -> None:
    benchmark = opened(Names, tmp_path, shout=True)
    task = benchmark.tasks("train")[0]
    brief = benchmark.brief(task)
    assert (brief.role, brief.answer_format) == ("You answer.", "In tags.")
    assert brief.prompt == f"## Question\n{task.data['question']}"
    assert task.data["question"].isupper()
    assert (brief.max_turns, brief.tools, brief.images) == (1, (), ())
    assert benchmark.seed_skill == "# Seed\n"
    assert not isinstance(benchmark, Interactive | Judged)


def test_options_and_files_are_checked_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"`env\.shuot` is not an option of the names benchmark"):
        opened(Names, tmp_path, shuot=True)
    with pytest.raises(ConfigError, match="was given no tasks"):
        Names.open(BenchmarkRequest(data_root=tmp_path / "none"))


def test_equal_content_in_two_splits_is_an_error(tmp_path: Path) -> None:
    write_splits(
        tmp_path, [qa("a", question="Q?")], [qa("b")], [qa("c", "thing a", question=" q? ")]
    )
    with pytest.raises(DataError, match="train and test share a task"):
        Names.open(BenchmarkRequest(split_dir=tmp_path))


def test_records_left_out_are_counted_in_the_source(tmp_path: Path) -> None:
    write_splits(tmp_path, [qa("a"), qa("x", question="skip")], [qa("b")], [qa("c")])
    benchmark = Names.open(BenchmarkRequest(split_dir=tmp_path))
    assert "1 record left out: without a question" in benchmark.source


@pytest.mark.parametrize(
    ("kind", "reason"), [(Names, "no answer was given"), (ToolNames, "out of turns")]
)
async def test_giving_up_scores_0_and_tools_name_the_reason(
    kind: type[Names], reason: str, tmp_path: Path
) -> None:
    benchmark = opened(kind, tmp_path)
    task = benchmark.tasks("train")[0]
    right = f"<answer>{task.data['answers'][0]}</answer>"
    assert (await benchmark.score(task, Attempt(right))).hard == 1.0
    score = await benchmark.score(task, Attempt(right, ending="gave_up", error="out of turns"))
    assert (score.hard, score.feedback) == (0.0, reason)
    assert score.expected == task.data["answers"]


def test_tools_and_turns_are_in_the_brief_where_a_task_has_tools(tmp_path: Path) -> None:
    benchmark = opened(ToolNames, tmp_path)
    brief = benchmark.brief(benchmark.tasks("train")[0])
    assert [tool.name for tool in brief.tools] == ["look"]
    assert brief.max_turns == 5
    without = benchmark.brief(benchmark.tasks("test")[0])
    assert (without.tools, without.max_turns) == ((), 1)


async def test_a_judge_reads_what_is_not_clear(tmp_path: Path) -> None:
    benchmark = opened(JudgedNames, tmp_path)
    assert isinstance(benchmark, Judged)
    task = benchmark.tasks("train")[0]
    gold = task.data["answers"][0]
    assert benchmark.ask_judge(task, Attempt(gold)).hard == 1.0
    assert benchmark.ask_judge(task, Attempt("")).hard == 0.0
    asked = benchmark.ask_judge(task, Attempt("another name"))
    assert asked[0].content.startswith("You grade.")
    assert f"## Reference answer\n{gold}" in asked[1].content
    assert "> another name" in asked[1].content
    heard = [benchmark.hear_judge(task, Attempt("x"), reply) for reply in ("CORRECT", "INCORRECT")]
    assert [score.hard for score in heard] == [1.0, 0.0]
    assert benchmark.hear_judge(task, Attempt("x"), "perhaps") is None
    left = await benchmark.score(task, Attempt("another name"))
    assert (left.hard, left.feedback) == (0.0, "left to the judge")


async def test_an_unmarked_answer_is_asked_for_until_the_last_turn(tmp_path: Path) -> None:
    benchmark = opened(RetriedNames, tmp_path)
    assert isinstance(benchmark, Interactive)
    task = benchmark.tasks("train")[0]
    proven = await benchmark.prove(task, None)  # type: ignore[arg-type]
    assert (await benchmark.score(task, proven)).hard == 1.0
    async with benchmark.episode(task, None) as episode:  # type: ignore[arg-type]
        again = [await episode.hear(reply) for reply in ("a", "b", "c")]
    assert [heard is None for heard in again] == [False, False, True]
    async with benchmark.episode(task, None) as episode:  # type: ignore[arg-type]
        assert await episode.hear("<answer>a</answer>") is None


def test_pictures_are_found_sent_and_part_of_the_content(tmp_path: Path) -> None:
    for split, shade in (("train", 0), ("val", 1), ("test", 2)):
        (tmp_path / split).mkdir()
        (tmp_path / split / "a.png").write_bytes(png(shade))
        record = {"id": split, "question": "Which?", "image": "a.png"}
        (tmp_path / split / "items.json").write_text(json.dumps([record]), encoding="utf-8")
    benchmark = Shown.open(BenchmarkRequest(split_dir=tmp_path, options={"image_detail": "low"}))
    brief = benchmark.brief(benchmark.tasks("train")[0])
    assert [image.detail for image in brief.images] == ["low"]
    assert brief.prompt == "## Question\nWhich?\n\n## Choices\nA. red\nB. blue"
    assert benchmark.expected(benchmark.tasks("test")[0]) == ("B. blue",)
    (tmp_path / "test" / "a.png").write_bytes(png(0))
    with pytest.raises(DataError, match="train and test share a task"):
        Shown.open(BenchmarkRequest(split_dir=tmp_path))
