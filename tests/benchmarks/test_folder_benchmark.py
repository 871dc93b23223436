from pathlib import Path
from typing import Any

import pytest
from task_files import write_json, write_lines, write_splits

from skillopt_cli.benchmarks.folder import SPEC, FolderBenchmark
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import SPLITS, Attempt, Task
from skillopt_cli.ports import Benchmark, BenchmarkRequest, Judged
from skillopt_cli.testing import check_benchmark


def task(name: str, **more: Any) -> dict[str, Any]:
    return {"prompt": f"Say {name}.", "answer": name, **more}


def opened(path: Path, **options: Any) -> Benchmark:
    return SPEC.open(BenchmarkRequest(data_path=path, options=options))


def refusal(path: Path, **options: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        opened(path, **options)
    return caught.value


def one(tmp_path: Path, record: dict[str, Any], **options: Any) -> Benchmark:
    """A benchmark whose train split is `record`."""
    more = [
        record | {key: f"{record[key]} {n}" for key in ("prompt", "question") if key in record}
        for n in (1, 2)
    ]
    folder = write_splits(tmp_path, [record], more[:1], more[1:])
    return SPEC.open(BenchmarkRequest(split_dir=folder, options=options))


CASES = [
    ("exact", {"prompt": "Say yes.", "answer": "yes"}),
    ("f1", {"question": "Who?", "answers": ["Ada Lovelace", "Lovelace"], "context": "Ada."}),
    ("contains", {"prompt": "Name a colour.", "reference": "red", "kind": "colour"}),
    ("numeric", {"prompt": "Count.", "answer": 1234}),
    ("regex", {"prompt": "A date.", "answer": "2024-01-31", "pattern": r"^\d{4}-\d\d-\d\d$"}),
    ("choice", {"question": "Which?", "answer": "B", "choices": ["one", "two", "three"]}),
    ("judge", {"prompt": "Why?", "answer": "It was raining."}),
    ("json", {"prompt": "A ticket.", "answer": {"product": "X200", "order": 19494}}),
]


def test_a_judge_is_asked_what_texts_do_not_tell(tmp_path: Path) -> None:
    record = {"question": "Why?", "context": "Rain.", "answers": ["It rained.", "Rain fell."]}
    benchmark = one(tmp_path, record, scorer="judge", rubric="Mind the tense.")
    assert isinstance(benchmark, Judged)
    task = benchmark.tasks("train")[0]
    for clear, hard in (("", 0.0), ("<answer>it  rained.</answer>", 1.0), ("Rain fell.", 1.0)):
        score = benchmark.ask_judge(task, Attempt(clear))
        assert isinstance(score, Score) and score.hard == hard
    given_up = benchmark.ask_judge(task, Attempt("Rain fell.", ending="gave_up"))
    assert isinstance(given_up, Score) and given_up.hard == 0.0

    attempt = Attempt("Well.\n<answer>It rains.</answer>")
    asked = benchmark.ask_judge(task, attempt)
    assert isinstance(asked, tuple)
    assert asked[0].content.startswith("Mind the tense.")
    assert "## Context\nRain." in asked[1].content
    assert "## Reference answer\nIt rained. or Rain fell.\n" in asked[1].content
    assert asked[1].content.endswith("## Answer to judge\n> It rains.")
    right, wrong = (benchmark.hear_judge(task, attempt, said) for said in ("CORRECT", "INCORRECT"))
    assert right and right.hard == 1.0
    assert wrong and wrong.hard == 0.0 and 'got "It rains."' in wrong.feedback
    assert benchmark.hear_judge(task, attempt, "perhaps") is None


def test_only_the_scorer_judge_needs_one(tmp_path: Path) -> None:
    assert SPEC.needs_judge({"scorer": "judge"})
    assert not SPEC.needs_judge({"scorer": "exact"}) and not SPEC.needs_judge({})
    assert not isinstance(one(tmp_path, task("a")), Judged)


def test_a_record_with_other_keys_is_told_which_it_has(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [{"email": "E", "ticket": "T"}])
    assert refusal(path).hint == (
        "the record has `email`, `ticket`; if one of these is meant, name it with"
        " `env.prompt_key=NAME`"
    )


def test_an_option_left_at_its_default_is_no_other_benchmark(tmp_path: Path) -> None:
    plain, told, other = (
        one(tmp_path / name, task("a"), **options)
        for name, options in (("a", {}), ("b", {"rubric": ""}), ("c", {"role": "Another."}))
    )
    assert plain.version == told.version != other.version


def read(record: dict[str, Any], **options: Any) -> Task:
    """A record as a task, without a file."""
    benchmark = FolderBenchmark(BenchmarkRequest(options=options))
    return benchmark.task(Record(record, Path("t.csv"), 2))


def test_capitals_in_the_names_of_keys_are_no_matter() -> None:
    named = read({"ID": 7, " Question ": "Q?", "Answer": "x", "CONTEXT": "C", "Kind": "k"})
    assert (named.id, named.kind) == ("7", "k")
    assert named.data == {"question": "Q?", "context": "C", "answers": ("x",)}
    both = {"question": "Q?", "Question": "other", "answer": "x"}
    assert read(both).data["question"] == "Q?"
    assert read(both, prompt_key="Question").data["prompt"] == "other"


def test_texts_in_a_list_beside_their_places_are_the_values(tmp_path: Path) -> None:
    squad = {"question": "Q?", "answers": {"text": ["x", "y"], "answer_start": [3, 9]}}
    (told,) = one(tmp_path / "a", squad).tasks("train")
    assert told.data["answers"] == ("x", "y")
    arc = {"question": "Q?", "choices": {"text": ["x", "y"], "label": ["A", "B"]}, "answer": "B"}
    (told,) = one(tmp_path / "b", arc, scorer="choice").tasks("train")
    assert told.data["choices"] == ("x", "y")


def test_a_table_without_names_is_asked_for_them(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("q0,What?,thing\nq1,Who?,one\n", encoding="utf-8")
    assert refusal(path).hint.startswith("the first row has to name the columns; ")


@pytest.mark.parametrize("value", [None, ""])
def test_a_blank_reference_is_no_missing_key(tmp_path: Path, value: str | None) -> None:
    path = write_lines(tmp_path / "t.jsonl", [{"question": "Q?", "answer": value}])
    assert "`answer` is empty" in refusal(path).message


def test_objects_are_references_of_the_scorer_json_alone(tmp_path: Path) -> None:
    one_of_two = {"prompt": "P", "answers": [{"a": 1}, '{"a": 2}']}
    (told,) = one(tmp_path, one_of_two, scorer="json").tasks("train")
    assert told.data["answers"] == ('{"a": 1}', '{"a": 2}')
    path = write_lines(tmp_path / "t.jsonl", [task("a", answer={"a": 1})])
    assert refusal(path).hint == "set env.scorer=json to compare it"
    path = write_lines(tmp_path / "t.jsonl", [task("a", answer="not an object")])
    assert "is no JSON object" in refusal(path, scorer="json").message


@pytest.mark.parametrize(("scorer", "record"), CASES)
async def test_every_scorer_keeps_the_contract(
    tmp_path: Path, scorer: str, record: dict[str, Any]
) -> None:
    await check_benchmark(one(tmp_path, record, scorer=scorer))


def test_a_brief_shows_context_task_and_options_but_no_reference(tmp_path: Path) -> None:
    record = {"prompt": "Pick.", "context": "C", "choices": ["one", "two"], "answer": "two"}
    benchmark = one(tmp_path, record, scorer="choice", role="You pick.", answer_format="Say it.")
    brief = benchmark.brief(benchmark.tasks("train")[0])
    assert brief.prompt == "## Context\nC\n\n## Task\nPick.\n\n## Options\nA. one\nB. two"
    assert (brief.role, brief.answer_format) == ("You pick.", "Say it.")


def test_the_pattern_is_in_no_brief_and_no_feedback(tmp_path: Path) -> None:
    benchmark = one(tmp_path, {"prompt": "A date.", "pattern": "canary+"}, scorer="regex")
    made = benchmark.tasks("train")[0]
    assert "canary" not in repr(benchmark.brief(made))


async def test_regex_takes_the_option_where_the_record_has_none(tmp_path: Path) -> None:
    records = [task("aa"), task("b", pattern="^b$"), task("a")]
    benchmark = opened(write_lines(tmp_path / "t.jsonl", records), scorer="regex", pattern="^a+$")
    tasks = {t.data["prompt"]: t for split in SPLITS for t in benchmark.tasks(split)}
    assert (await benchmark.score(tasks["Say a."], Attempt("aaa"))).hard == 1.0
    assert (await benchmark.score(tasks["Say b."], Attempt("aaa"))).hard == 0.0


def test_a_bad_pattern_is_refused_by_record(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [task("a", pattern="a"), task("b", pattern="(b")])
    assert refusal(path, scorer="regex").message.startswith(
        f"{path}, line 2: `pattern` is not a regular expression ("
    )


def test_missing_ids_come_from_the_content(tmp_path: Path) -> None:
    records = [task("a"), task("b"), task("c", id="own")]
    first = opened(write_lines(tmp_path / "a.jsonl", records))
    second = opened(write_json(tmp_path / "b.json", records[::-1]))
    for split in SPLITS:
        assert [t.id for t in first.tasks(split)] == [t.id for t in second.tasks(split)]
    ids = {t.id for split in SPLITS for t in first.tasks(split)}
    assert "own" in ids
    assert len(ids) == 3


def test_a_key_of_ids_can_be_named(tmp_path: Path) -> None:
    records = [task(name, id=f"not {name}", ticket=number) for number, name in enumerate("abc")]
    path = write_lines(tmp_path / "t.jsonl", records)
    benchmark = opened(path, id_key="ticket")
    assert {t.id for split in SPLITS for t in benchmark.tasks(split)} == {"0", "1", "2"}
    # What has no such key keeps the ids of before, and their version.
    assert {t.id for split in SPLITS for t in opened(path).tasks(split)} == {
        "not a",
        "not b",
        "not c",
    }
    assert refusal(path, id_key="nope").message == f"{path}, line 1: `nope` is missing"
    table = tmp_path / "t.csv"
    table.write_text("prompt,answer,ID\nSay a.,a,1\nSay b.,b,\n", encoding="utf-8")
    assert refusal(table, id_key="ID").message == f"{table}, line 3: the cell `ID` is empty"


@pytest.mark.parametrize("own_ids", [False, True])
def test_rows_that_repeat_an_earlier_one_are_left_out_of_a_cut_file(
    tmp_path: Path, own_ids: bool
) -> None:
    records = [
        task(name, **({"id": f"t{n}"} if own_ids else {})) for n, name in enumerate("abacab")
    ]
    records[4]["prompt"] = "say  A."
    benchmark = opened(write_lines(tmp_path / "t.jsonl", records))
    assert benchmark.source.endswith("3 records left out: repeating an earlier one)")
    tasks = [task for split in SPLITS for task in benchmark.tasks(split)]
    assert len(tasks) == 3
    if own_ids:
        assert {task.id for task in tasks} == {"t0", "t1", "t3"}


def test_rows_that_differ_in_context_options_or_pattern_all_stay(tmp_path: Path) -> None:
    records = [
        {"prompt": "Q?", "answer": "a", "context": f"c{n}", "choices": [f"o{m}", "a"]}
        for n in range(2)
        for m in range(2)
    ]
    assert "left out" not in opened(write_lines(tmp_path / "t.jsonl", records)).source
    patterns = [{"prompt": "Q?", "pattern": f"p{n}"} for n in range(2)]
    path = write_lines(tmp_path / "p.jsonl", patterns)
    assert "left out" not in opened(path, scorer="regex").source


def test_rows_that_contradict_an_earlier_one_are_counted_and_three_are_named(
    tmp_path: Path,
) -> None:
    records = [{"prompt": f"p{n % 5}", "answer": "yes" if n < 5 else "no"} for n in range(10)]
    path = write_lines(tmp_path / "t.jsonl", records)
    error = refusal(path)
    first = f"{path}, line 1 and {path}, line 6 ask the same and have the answers `yes` and `no`; "
    assert error.message.startswith(first)
    assert error.message.count(" ask the same ") == 3
    assert error.message.endswith("; ... (5 in all)")
    assert error.hint.startswith("correct the answers")
    assert error.hint.endswith("`skillopt data check` lists them all")


@pytest.mark.parametrize(
    ("scorer", "answers", "left_out"),
    [
        ("exact", ("yes", "YES"), True),
        ("numeric", ("1,000", "1000.0"), True),
        ("json", ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'), True),
        ("exact", (["a", "b"], ["b", "a"]), True),
        ("judge", ("because of rain", "it rained"), False),
    ],
)
def test_answers_that_mean_the_same_do_not_contradict_one_another(
    tmp_path: Path, scorer: str, answers: tuple[Any, Any], left_out: bool
) -> None:
    records = [{"prompt": "p", "answer": answer} for answer in answers]
    benchmark = opened(write_lines(tmp_path / "t.jsonl", records), scorer=scorer)
    assert ("1 record left out" in benchmark.source) == left_out


def test_splits_that_are_given_keep_their_rows_and_name_all_that_they_share(
    tmp_path: Path,
) -> None:
    train = [task(name) for name in "abcde"]
    write_splits(tmp_path, train, [task("x")], [task("y"), *train])
    with pytest.raises(DataError) as caught:
        FolderBenchmark.open(BenchmarkRequest(split_dir=tmp_path))
    assert caught.value.message.startswith("train and test share a task, in ")
    assert caught.value.message.count("share a task") == 3
    assert caught.value.message.endswith("; ... (5 in all)")
    write_splits(tmp_path, [task("a"), task("a")], [task("x")], [task("y")])
    with pytest.raises(DataError, match=r"record 1 and in .*record 2") as caught:
        FolderBenchmark.open(BenchmarkRequest(split_dir=tmp_path))
    assert caught.value.hint == "remove one of the two: they are the same task"


def test_one_prompt_over_many_contexts_is_not_leakage(tmp_path: Path) -> None:
    records = [
        {"prompt": "Good or bad?", "context": f"review {i}", "answer": "good"} for i in range(10)
    ]
    benchmark = opened(write_lines(tmp_path / "t.jsonl", records))
    assert len(benchmark.tasks("test")) == 7


def test_keys_can_be_named(tmp_path: Path) -> None:
    records = [{"q": f"Say {n}.", "gold": n, "prompt": "noise", "answer": 0} for n in "abc"]
    path = write_lines(tmp_path / "t.jsonl", records)
    benchmark = opened(path, prompt_key="q", answer_key="gold")
    made = benchmark.tasks("train")[0]
    assert made.data["prompt"].startswith("Say ")
    assert made.data["answers"] in {("a",), ("b",), ("c",)}
    assert refusal(path, prompt_key="nope").message == f"{path}, line 1: `nope` is missing"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"answer": "a"}, "`prompt` or `question` is missing"),
        ({"prompt": "p"}, "`answer` or `answers` or `reference` is missing"),
        ({"prompt": "p", "question": "q", "answer": "a"}, "holds `prompt` and `question`"),
        ({"prompt": "p", "answer": "a", "answers": ["b"]}, "holds `answer` and `answers`"),
        ({"prompt": "p", "answer": ""}, "`answer` is empty"),
        ({"prompt": "p", "answer": "a", "kind": 3}, "`kind` is a number, not text"),
        ({"prompt": "p", "answer": "a", "id": ""}, "`id` is empty"),
        ({"prompt": "p", "answer": {"x": 1}}, "`answer` is an object, not text"),
    ],
)
def test_unusable_records_are_refused_by_place(
    tmp_path: Path, record: dict[str, Any], message: str
) -> None:
    path = write_lines(tmp_path / "t.jsonl", [task("a"), record])
    assert refusal(path).message == f"{path}, line 2: {message}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scorer": "exactly"}, "`env.scorer` must be `exact`"),
        ({"tolerance": "-1"}, "`env.tolerance`: tolerance `-1` is not"),
        ({"tolerance": [1]}, "`env.tolerance` must be a text"),
        ({"scorer": "regex", "pattern": "(b"}, "`env.pattern` is not a regular expression ("),
        ({"scorer": "regex", "pattern": "a*"}, "`env.pattern` is found in an empty answer"),
        ({"role": 3}, "`env.role` must be a text, not 3"),
        ({"scorrer": "exact"}, "`env.scorrer` is not an option of the folder benchmark"),
    ],
)
def test_bad_options_are_refused_by_key(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    path = write_lines(tmp_path / "t.jsonl", [task(n) for n in "abc"])
    with pytest.raises(ConfigError) as caught:
        opened(path, **options)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("scorrer", "did you mean `env.scorer`?"),
        ("split_raito", "did you mean `env.split_ratio`?"),
        ("anwser_key", "did you mean `env.answer_key`?"),
        ("zzz", "its options are `env.answer_format`, `env.answer_key`, "),
    ],
)
def test_a_misspelt_option_gets_a_suggestion(wrong: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        SPEC.open(BenchmarkRequest(options={wrong: "exact"}))
    assert caught.value.hint.startswith(hint)


def test_without_tasks_it_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        SPEC.open(BenchmarkRequest(data_root=tmp_path))
    assert "env.split_dir" in caught.value.hint


def test_the_version_follows_what_can_change_a_score(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [task(str(n)) for n in range(3)])
    versions = [
        opened(path, **options).version
        for options in (
            {},
            {"seed_skill": "Be brief."},
            {"scorer": "numeric"},
            {"scorer": "numeric", "tolerance": 1},
            {"role": "You."},
        )
    ]
    assert versions[0] == versions[1]
    assert len(set(versions)) == 4
    assert opened(path, seed_skill="Be brief.").seed_skill == "Be brief."
