from pathlib import Path

import pytest
from task_files import qa, write_splits

from skillopt_cli.benchmarks.kit.data_check import check_data
from skillopt_cli.benchmarks.searchqa import SPEC
from skillopt_cli.benchmarks.searchqa.tasks import CONTEXT_LIMIT, CUT_MARK, cut_context
from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.task import Attempt, Task
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import Benchmark, BenchmarkRequest
from skillopt_cli.testing import check_benchmark


@pytest.fixture
def sample(tmp_path: Path) -> Benchmark:
    return SPEC.open(BenchmarkRequest(data_root=tmp_path))


def with_task(folder: Path, **task: object) -> tuple[Benchmark, Task]:
    write_splits(folder, [qa("a", **task)], [qa("b")], [qa("c")])
    benchmark = SPEC.open(BenchmarkRequest(split_dir=folder))
    return benchmark, benchmark.tasks("train")[0]


async def test_the_bundled_sample_keeps_the_contract(sample: Benchmark) -> None:
    assert sample.source == "bundled sample (60 train / 60 selection / 100 test)"
    await check_benchmark(sample)


async def test_the_bundled_sample_has_no_faults(sample: Benchmark, tmp_path: Path) -> None:
    found = await check_data(sample, LocalExecutor(tmp_path), at_most=1000)
    assert [f for f in found if f.level != "info"] == []


def test_the_seed_is_one_ordinary_sentence(sample: Benchmark) -> None:
    title, sentence = [line for line in sample.seed_skill.splitlines() if line]
    assert title.startswith("# ")
    assert sentence == "Answer the question using the context."


def test_a_brief_holds_context_and_question_and_no_reference(tmp_path: Path) -> None:
    benchmark, task = with_task(tmp_path, answers=["the secret"])
    brief = benchmark.brief(task)
    assert brief.prompt == "## Context\nAbout a.\n\n## Question\nWhat is a?"
    assert "<answer>" in brief.answer_format
    assert "secret" not in repr(brief)


def test_a_blank_context_is_left_out(tmp_path: Path) -> None:
    benchmark, task = with_task(tmp_path, context=" ")
    assert [section.title for section in benchmark.brief(task).sections] == ["Question"]


def test_kind_comes_from_the_record_else_qa(tmp_path: Path) -> None:
    benchmark, task = with_task(tmp_path, kind="year")
    assert task.kind == "year"
    assert benchmark.tasks("test")[0].kind == "qa"


def test_a_context_is_cut_after_the_last_whole_piece() -> None:
    first, second = "[DOC] " + "a" * 50, "[DOC] " + "b" * 50
    both = f"{first} {second}"
    assert cut_context(both, len(both)) == both
    assert cut_context(both, len(both) - 1) == first
    assert cut_context(f"{both} [DOC] c", len(both) + 1) == both
    assert cut_context(both, len(first) + 1) == first
    assert cut_context(both, 20) == both[:20] + CUT_MARK
    assert cut_context("x" * 7000) == "x" * CONTEXT_LIMIT + CUT_MARK


async def scored(folder: Path, answer: str, ending: str = "answered", **task: object) -> Score:
    benchmark, made = with_task(folder, **task)
    return await benchmark.score(made, Attempt(answer, ending=ending))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reply", "answers", "hard", "soft"),
    [
        ("<answer>Alexander Fleming</answer>", ["Alexander Fleming"], 1, 1),
        ("So: <answer>alexander fleming.</answer>", ["Alexander Fleming"], 1, 1),
        ("<ANSWER>\nFleming\n</ANSWER>", ["Fleming"], 1, 1),
        ("<answer>Rome</answer> no: <answer>Paris</answer>", ["Paris"], 1, 1),
        ("<answer>Paris</answer> no: <answer>Rome</answer>", ["Paris"], 0, 0),
        ("I looked it up.\nParis\n\n", ["Paris"], 1, 1),
        ("It is Paris.\nI am sure.", ["Paris"], 0, 0),
        ("<answer>the Eiffel Tower!</answer>", ["an Eiffel tower"], 1, 1),
        ("<answer>Tower Eiffel</answer>", ["Eiffel Tower"], 0, 1),
        ("<answer>Fleming</answer>", ["Alexander Fleming"], 0, 2 / 3),
        ("<answer>in 1989</answer>", ["1989"], 0, 2 / 3),
        ("<answer>yes yes yes</answer>", ["yes"], 0, 1 / 2),
        ("<answer>Fleming of Ayr</answer>", ["Bell", "Fleming", "Alexander Fleming"], 0, 1 / 2),
        ("<answer>NYC</answer>", ["New York City", "NYC"], 1, 1),
        ("<answer>12.5%</answer>", ["12.5"], 1, 1),  # all punctuation goes, so these are one
        ("<answer>125</answer>", ["12.5"], 1, 1),
        ("<answer>1,200</answer>", ["1200"], 1, 1),
        ("<answer>1 200</answer>", ["1200"], 0, 0),
        ("<answer>**Paris**</answer>", ["Paris"], 1, 1),
        ("<answer>(Paris)</answer>", ["Paris"], 1, 1),
        ("<answer>rock-'n'-roll</answer>", ["rock n roll"], 0, 0),
        ("<answer>Beyonce</answer>", ["Beyonc\u00e9"], 0, 0),
        ("<answer>C++</answer>", ["C"], 1, 1),
        ("<answer>Parisian</answer>", ["Paris"], 0, 0),  # containing is not being
        ("<answer></answer>", ["Paris"], 0, 0),
        ("<answer>the</answer>", ["Paris"], 0, 0),
        ("", ["Paris"], 0, 0),
        (" \n ", ["Paris"], 0, 0),
    ],
)
async def test_scores(
    tmp_path: Path, reply: str, answers: list[str], hard: float, soft: float
) -> None:
    score = await scored(tmp_path, reply, answers=answers)
    assert (score.hard, score.soft) == (hard, pytest.approx(soft))
    assert score.expected == tuple(answers)
    assert bool(score.feedback) is not bool(hard)


async def test_a_miss_says_what_was_wanted(tmp_path: Path) -> None:
    part = await scored(tmp_path, "It was him.\nFleming", answers=["Alexander Fleming"])
    assert 'expected "Alexander Fleming", got "Fleming"' in part.feedback


async def test_giving_up_scores_zero_whatever_was_said(tmp_path: Path) -> None:
    score = await scored(tmp_path, "thing a", "gave_up")
    assert (score.hard, score.soft) == (0.0, 0.0)
    assert score.feedback


async def test_a_partial_score_is_kept_and_counts_as_a_failure(tmp_path: Path) -> None:
    nine_words = "one two three four five six seven eight nine"
    benchmark, task = with_task(tmp_path, answers=["one"])
    attempt = Attempt(nine_words)
    score = await benchmark.score(task, attempt)
    assert (score.hard, score.soft) == (0.0, pytest.approx(0.2))
    assert Trajectory(task, attempt, score).failed


@pytest.mark.parametrize("key", ["id", "question", "context", "answers"])
def test_a_missing_field_is_refused_by_place_and_key(tmp_path: Path, key: str) -> None:
    record = qa("a")
    del record[key]
    write_splits(tmp_path, [record], [qa("b")], [qa("c")])
    with pytest.raises(DataError) as caught:
        SPEC.open(BenchmarkRequest(split_dir=tmp_path))
    assert caught.value.message == f"{tmp_path / 'train/items.json'}, record 1: `{key}` is missing"


def test_an_id_manifest_is_recognised(tmp_path: Path) -> None:
    write_splits(tmp_path, [{"id": "a"}], [{"id": "b"}], [{"id": "c"}])
    with pytest.raises(DataError) as caught:
        SPEC.open(BenchmarkRequest(split_dir=tmp_path))
    assert "data prepare searchqa" in caught.value.hint


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"`env\.scorer` is not an option"):
        SPEC.open(BenchmarkRequest(options={"scorer": "exact"}))


@pytest.mark.parametrize(
    "answers", [["The", "Paris"], ["The"], ["."], ["a"], ["Paris", "an"], ['"the..."']]
)
def test_a_reference_without_a_word_that_is_compared_is_refused(
    tmp_path: Path, answers: list[str]
) -> None:
    with pytest.raises(DataError, match=r"items\.json, record 1: nothing of the reference"):
        with_task(tmp_path, answers=answers)
