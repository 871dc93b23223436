from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from task_files import write_splits

from skillopt_cli.benchmarks.folder import SPEC
from skillopt_cli.benchmarks.kit.data_check import check_data, task_warnings
from skillopt_cli.benchmarks.kit.label_checks import label_findings, rare_labels
from skillopt_cli.benchmarks.kit.labels import (
    Referenced,
    given_label,
    majority_baselines,
    never_right,
)
from skillopt_cli.benchmarks.kit.missing_groups import parts_hint
from skillopt_cli.core.labels import Labels
from skillopt_cli.core.score import BROKEN, FULL, Mark
from skillopt_cli.core.task import SPLITS, Split, Task
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import BenchmarkRequest

ONE_WAY = "1 label is spelt in several ways: "
WORDS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"]


async def found(tmp_path: Path, answers: list[Any], **options: Any) -> str:
    """What is found in three splits of tasks with these answers each, in one text."""
    splits = [
        [{"question": f"{split} {WORDS[n]}?", "answer": answer} for n, answer in enumerate(answers)]
        for split in SPLITS
    ]
    request = BenchmarkRequest(split_dir=write_splits(tmp_path, *splits), options=options)
    findings = await check_data(SPEC.open(request), LocalExecutor(tmp_path))
    return "\n".join(f"{one.level}: {one.what} ({one.hint})" for one in findings)


@pytest.mark.parametrize(
    ("answers", "scorer", "told"),
    [
        (["Yes", "yes", "no", "no"], "exact", "spellings of one label: `Yes` / `yes`"),
        (["Yes", "Yes.", "no", "no"], "exact", "spellings of one label"),
        (["Yes", "yes", "Yes ", "no", "no", "no"], "exact", "one label: `Yes` / `yes`"),
        (["Yes", "yes", "no", "no"], "contains", ONE_WAY + "`Yes` / `yes`"),
        (["Yes", "yes", "no", "no"], "f1", ONE_WAY + "`Yes` / `yes`"),
        (["Yes", "Yes ", "no", "no"], "exact", ""),
        (["Yes", "Yes\u00a0", "Don't", "Don\u2019t"], "exact", ""),
        (["Yes", "yes ", "no", "no"], "exact", "spellings of one label: `Yes` / `yes` ("),
        (
            ["Yes", "yes", "no", "NO"],
            "f1",
            "2 labels are spelt in several ways: `Yes` / `yes`, `no` / `NO`",
        ),
        (["yes", "yes", "no", "no"], "exact", ""),
        (["log in", "Log-In", "log_in", "no"], "exact", "`log in` / `Log-In` / `log_in`"),
        (["login", "log in", "no", "no"], "exact", "spellings of one label: `login` / `log in`"),
        (["plan-2", "plan 2", "no", "no"], "contains", "spellings of one label"),
        (["1-2", "12", "1 2", "-1", "1"], "exact", ""),
        (["A-", "A", "B", "B"], "exact", ""),
    ],
)
async def test_spellings(tmp_path: Path, answers: list[str], scorer: str, told: str) -> None:
    text = await found(tmp_path, answers, scorer=scorer)
    assert told in text
    assert bool(told) is ("spelt" in text or "spellings" in text)


async def test_spellings_of_one_label_are_one_warning(tmp_path: Path) -> None:
    text = await found(tmp_path, ["Yes", "yes", "no", "NO"], scorer="exact")
    assert "warning: the scorer distinguishes spellings of one label: `Yes` / `yes`, `no` /" in text
    assert ONE_WAY not in text


async def test_spellings_that_the_scorer_holds_equal_are_no_fault(tmp_path: Path) -> None:
    text = await found(tmp_path, ["Yes", "yes", "no", "no "], scorer="f1")
    assert f"info: {ONE_WAY}`Yes` / `yes` (" in text


async def test_spellings_of_a_large_set_of_labels_are_found(tmp_path: Path) -> None:
    answers = [f"{'Label' if n else 'label'} {k}" for k in range(30) for n in range(2)]
    splits = [
        [{"question": f"{split} {n}?", "answer": answer} for n, answer in enumerate(answers)]
        for split in SPLITS
    ]
    request = BenchmarkRequest(
        split_dir=write_splits(tmp_path, *splits), options={"scorer": "exact"}
    )
    (warned,) = task_warnings(SPEC.open(request))
    assert warned.startswith("30 labels are spelt in several ways: `label 0` / `Label 0`, ")
    assert warned.endswith(", ...") and warned.count("/") == 3


@pytest.mark.parametrize(
    ("answers", "scorer", "warned"),
    [
        (["0.30000000000000004", "x"], "exact", True),
        (["3.5", "4.25"], "contains", True),
        ([3.50, "x"], "exact", True),
        (["3.5", "4.25"], "numeric", False),
        (["3", "v1.2.3", "1.5 kg"], "exact", False),
    ],
)
async def test_decimals(tmp_path: Path, answers: list[Any], scorer: str, warned: bool) -> None:
    text = await found(tmp_path, answers, scorer=scorer)
    assert warned is ("decimal number that is compared as text" in text)


@pytest.mark.parametrize(
    ("answers", "numeric"),
    [(["3.5", "4.25"], True), ([3.5, "2", ["1.5", "3/2"]], True), (["3.5", "4.25", "x"], False)],
)
async def test_the_scorer_of_numbers_is_named_where_all_are_numbers(
    tmp_path: Path, answers: list[Any], numeric: bool
) -> None:
    text = await found(tmp_path, answers, scorer="exact")
    assert numeric is ("env.scorer=numeric" in text)
    assert numeric is not ('as several answers, such as ["1.5", "1.50"]' in text)


@pytest.mark.parametrize(
    ("answer", "warned"),
    [
        ("['thing0', 'alt']", True),
        ("['thing0' 'alt']", True),
        ("('thing0', 'alt')", True),
        ("['thing0']", True),
        ("array(['thing0', 'alt'], dtype=object)", True),
        ("{'thing0', 'alt'}", True),
        ('["thing0", "alt"]', True),
        ("[thing0, alt]", True),
        ("[“thing0”, “alt”]", True),
        ("thing0|alt", True),
        ("thing0 | alt | other", True),
        ("{'text': array(['thing0'], dtype=object), 'answer_start': array([5])}", True),
        ("{'text': ['thing0'], 'answer_start': [5]}", True),
        ("|x|", False),
        ("a || b", False),
        ("P(A|B)", False),
        ("{'thing0': 'alt'}", False),
        ('{"a": "b", "c": "d"}', False),
        ("(thing)", False),
        ("['sic'] in the text", False),
        ("[0, 1)", False),
        ("[1, 2]", False),
        ("thing [sic]", False),
        ('"thing"', False),
    ],
)
async def test_lists_written_as_text(tmp_path: Path, answer: str, warned: bool) -> None:
    text = await found(tmp_path, [answer, "x"], scorer="exact")
    assert warned is ("a list written as text" in text)


def tasks(**labels: str) -> list[Referenced]:
    """A task for each letter of a split's word, which is its label."""
    splits: list[tuple[Split, str]] = [(split, labels[split]) for split in SPLITS]
    return [
        Referenced(Task(f"{split}{n}", "task", {"right": label}), split, (label,))
        for split, word in splits
        for n, label in enumerate(word)
    ]


async def exactly(task: Task, answer: str) -> float:
    return float(task.data["right"] == answer)


async def test_label_counts_and_the_majority_baseline() -> None:
    (counts,) = await label_findings(tasks(train="yyyn", selection="yn", test="ynnn"), exactly)
    assert counts.level == "info"
    assert counts.what == (
        "labels (train/selection/test): y 3/1/1, n 1/1/3; majority baseline: always answering"
        ' "y" scores 0.25 on test'
    )


async def test_the_majority_baseline_is_what_the_scorer_gives() -> None:
    mixed = tasks(train="YYYn", selection="yn", test="yyYn")
    assert '"Y" scores 0.25 on test' in (await label_findings(mixed, exactly))[0].what


async def test_the_majority_baseline_is_of_the_tasks_that_are_measured() -> None:
    known = tasks(train="yyyn", selection="yn", test="ynnn")
    tested = [one.task for one in known if one.split == "test"]
    (whole,) = await majority_baselines(known, tested, exactly)
    assert (whole.answer, whole.score, whole.n) == ("y", 0.25, 4)
    (part,) = await majority_baselines(known, tested[:2], exactly)
    assert (part.score, part.n) == (0.5, 2)
    assert await majority_baselines(known, [], exactly) == []
    singular = tasks(train="abcd", selection="ef", test="ghab")
    assert await majority_baselines(singular, tested, exactly) == []


async def test_equally_common_labels_are_all_baselines_the_strongest_first() -> None:
    for order in ("aabb", "bbaa"):
        known = tasks(train=order, selection="ab", test="abbb")
        tested = [one.task for one in known if one.split == "test"]
        found = await majority_baselines(known, tested, exactly)
        assert [(one.answer, one.score) for one in found] == [("b", 0.75), ("a", 0.25)]
        assert {one.equally_common for one in found} == {2}


async def test_labels_that_the_scorer_holds_equal_are_one_majority_baseline() -> None:
    words = {"a": "returns ", "b": "returns", "c": "billing", "d": "login"}
    known = [
        Referenced(one.task, one.split, (words[one.label],))
        for one in tasks(train="abbcccddd", selection="bcd", test="bcd")
    ]
    tested = [one.task for one in known if one.split == "test"]
    found = await majority_baselines(known, tested, exactly)
    assert sorted(one.answer for one in found) == ["billing", "login", "returns"]
    assert {one.equally_common for one in found} == {3}


async def test_without_a_test_split_labels_are_counted_alone() -> None:
    counts, *_ = await label_findings(tasks(train="yyyn", selection="yn", test=""), exactly)
    assert counts.what == "labels (train/selection/test): y 3/1/0, n 1/1/0"


@pytest.mark.parametrize(
    ("reply", "given"),
    [
        ("billing", "billing"),
        ("BILLING.", "billing"),
        ("I think so. <answer>log  in</answer>", "log in"),
        ("退货", "退货"),
        ("**C++**", "C++"),
        ("", None),
        ("It is a billing question.", None),
        ("rebilling", None),
    ],
)
def test_a_reply_gives_a_label_only_where_that_is_its_whole_answer(
    reply: str, given: str | None
) -> None:
    assert given_label(reply, Labels(("billing", "log in", "退货", "C++"))) == given


def test_labels_that_are_never_right_are_named_with_their_tasks() -> None:
    known = tasks(train="", selection="", test="aabbc")
    wrong = Mark(0.0, 0.5)
    marks = {"test0": FULL, "test1": wrong, "test2": wrong, "test3": wrong, "test4": BROKEN}
    assert never_right(known, marks) == {"b": 2}
    assert never_right(known, {}) == {}
    # One right attempt of several is enough, also where others are broken.
    half = {**marks, "test3": Mark(0.5, 0.5)}
    assert never_right(known, half) == {"b": 2}
    assert never_right(known, half, repeats=2) == never_right(known, half, repeats=3) == {}


async def test_labels_that_a_split_lacks() -> None:
    of = tasks(train="yynnn", selection="ynmm", test="yymmy")
    _, train, test = await label_findings(of, exactly, "move some")
    assert train.what == "the train split has no task with the label `m`"
    assert test.what == "the test split has no task with the label `n`"
    assert train.hint == test.hint == "move some"


async def test_labels_that_not_every_split_can_have() -> None:
    of = tasks(train="yyyyynnnn", selection="yynmm", test="ynk")
    _, rare = await label_findings(of, exactly)
    assert (rare.level, rare.what) == (
        "warning",
        "2 labels have fewer tasks than there are splits: `m` (2), `k` (1)",
    )
    assert rare.hint.startswith("add tasks until each has 3, or leave these out")
    assert rare_labels(of) == {"m": 2, "k": 1}


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ("yynnab", "two tasks each are no set of labels"),
        ("111222223333334", "numbers are no set of labels"),
        ("yyyynnnn", "each has enough"),
    ],
)
def test_answers_of_few_tasks_are_no_rare_labels(answers: str, why: str) -> None:
    assert rare_labels(tasks(train=answers, selection="", test="")) == {}, why


async def test_labels_in_several_spellings_are_counted_as_one() -> None:
    words = {"a": "log in", "b": "log-in", "c": "Log_In", "n": "no"}
    of = [
        Referenced(one.task, one.split, (words[one.label],))
        for one in tasks(train="aaabnn", selection="bnn", test="cnn")
    ]
    (counts,) = await label_findings(of, exactly)
    assert counts.what.startswith("labels (train/selection/test): log in 4/1/1, no 2/2/2")
    assert rare_labels(of) == {}


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"split_dir": Path("cut")}, "move tasks with it there from another split, or add some"),
        ({"split_ratio": "2:1:1"}, 'cut the file with env.split_ratio="2:1:1 by label"'),
        ({"split_ratio": "3:1:1 by kind"}, 'cut the file with env.split_ratio="3:1:1 by label"'),
        ({"split_ratio": "2:1:1 by label"}, "add tasks with it"),
    ],
)
def test_how_a_label_gets_into_a_split_depends_on_where_the_splits_come_from(
    given: dict[str, Any], hint: str
) -> None:
    request = BenchmarkRequest(**{"data_path": Path("t.csv"), **given})
    assert parts_hint(request) == hint


@pytest.mark.parametrize(
    ("ratio", "hint"),
    [
        ("2:1:7", 'cut the file with env.split_ratio="2:1:7 by kind"'),
        ("2:1:7 by label", 'cut the file with env.split_ratio="2:1:7 by kind"'),
        ("2:1:7 by kind", "add tasks with it"),
    ],
)
def test_the_setting_that_cuts_by_kind(ratio: str, hint: str) -> None:
    request = BenchmarkRequest(data_path=Path("t.jsonl"), split_ratio=ratio)
    assert parts_hint(request, "kind") == hint


async def test_references_that_hardly_repeat_are_no_labels() -> None:
    assert not await label_findings(tasks(train="abcd", selection="ef", test="ghab"), exactly)
