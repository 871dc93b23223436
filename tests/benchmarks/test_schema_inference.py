"""What a task file leaves one reading of is inferred, and whatever is unclear is asked for."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from task_files import write_lines, write_splits

from skillopt_cli.benchmarks.folder import SPEC
from skillopt_cli.benchmarks.folder.moments import is_moment
from skillopt_cli.benchmarks.folder.tasks import UNANSWERED
from skillopt_cli.core.errors import ConfigError, DataError, SkillOptError, Undetermined
from skillopt_cli.core.task import SPLITS
from skillopt_cli.ports import BenchmarkRequest

BODY = "Parcel {} came late and the box around it was wet."
QUEUES = ("billing", "login", "returns")


def inferred(path: Path, **options: Any) -> dict[str, Any]:
    assert SPEC.infer is not None
    request = BenchmarkRequest(data_path=path, options=options)
    return {key: one.value for key, one in SPEC.infer(request).settings.items()}


def table(folder: Path, columns: Mapping[str, Sequence[object]]) -> Path:
    path = folder / "tasks.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def bodies(n: int) -> list[str]:
    return [BODY.format(i) for i in range(n)]


def asked(folder: Path, columns: Mapping[str, Sequence[object]], **options: Any) -> SkillOptError:
    with pytest.raises(SkillOptError) as caught:
        inferred(table(folder, columns), **options)
    return caught.value


ANSWERS: dict[str, tuple[list[Any], str]] = {
    "labels": ([QUEUES[i % 3] for i in range(12)], "exact"),
    "labels in two spellings": (["Yes", "yes", "no", "No"] * 3, "f1"),
    "labels with zeros": (["01", "02", "03"] * 4, "exact"),
    "numbers": ([i * 17 + 3 for i in range(12)], "numeric"),
    "numbers with units": ([f"{i}.5 kg" for i in range(12)], "numeric"),
    "numbers in two values": ([0, 1] * 6, "numeric"),
    "codes": ([f"00{i}7" for i in range(12)], "f1"),
    "long codes": ([str(10**19 + i) for i in range(12)], "f1"),
    "dates": ([f"2024-01-{i:02}" for i in range(1, 13)], "f1"),
    "names": ([f"Ada Lovelace {chr(65 + i)}." for i in range(12)], "f1"),
    "names, some numbers": ([f"Hall {chr(65 + i)}" if i % 3 else i for i in range(12)], "f1"),
    "signs": (["+", "-", "*", "/", "%", "<", ">", "=", "!", "?", "&", "|"], "exact"),
    "objects": ([{"order": i, "product": f"X{i}"} for i in range(12)], "json"),
    "objects as texts": ([json.dumps({"order": i}) for i in range(12)], "json"),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_the_scorer_follows_from_the_answers(tmp_path: Path, kind: str) -> None:
    answers, scorer = ANSWERS[kind]
    path = write_lines(
        tmp_path / "t.jsonl",
        [{"question": b, "answer": a} for b, a in zip(bodies(12), answers, strict=True)],
    )
    found = inferred(path)
    assert found["scorer"] == scorer
    ratio = found.pop("split_ratio")
    assert ratio == ("2:1:1 by label" if len(set(map(str, answers))) <= 4 else "2:1:1")
    # What was inferred opens, which checks that each reference gets full marks.
    benchmark = SPEC.open(BenchmarkRequest(data_path=path, split_ratio=ratio, options=found))
    assert sum(len(benchmark.tasks(split)) for split in SPLITS) == 12


@pytest.mark.parametrize(
    ("kinds", "offered"),
    [
        (["sum", "count", "sum"], 2),
        (["sum", None], 0),
        (["sum"], 0),
        ([None], 0),
        ([f"k{n}" for n in range(12)], 0),
    ],
)
def test_a_split_by_kind_is_offered_where_kinds_recur(
    tmp_path: Path, kinds: list[str | None], offered: int
) -> None:
    records = [
        {"question": text, "answer": f"Hall {n}", "kind": kinds[n % len(kinds)]}
        for n, text in enumerate(bodies(12))
    ]
    path = write_lines(tmp_path / "t.jsonl", records)
    assert SPEC.infer is not None
    found = SPEC.infer(BenchmarkRequest(data_path=path)).settings["split_ratio"]
    told = f"; `2:1:1 by kind` gives each split its share of {offered} kinds" if offered else ""
    assert (found.value, found.why) == ("2:1:1", f"12 tasks, half to train on{told}")


MOMENTS = {
    "ISO dates": "2024-03-{:02}",
    "slashes, year first": "2024/3/{}",
    "ISO times": "2024-03-{:02}T08:15:00Z",
    "ISO times, precise": "2024-03-{:02} 08:15:00.125+02:00",
    "day first": "{}.03.2024",
    "month first, short year": "3/{}/24",
    "month first, with a time": "03/{:02}/2024 8:15 PM",
    "named months": "{} March 2024",
    "short months first": "Mar {}, 2024, 08:15",
    "times of day": "08:{:02}",
}


@pytest.mark.parametrize("form", MOMENTS)
def test_dates_and_times_are_neither_task_text_nor_answer(tmp_path: Path, form: str) -> None:
    moments = [MOMENTS[form].format(i + 1) for i in range(12)]
    columns: dict[str, list[Any]] = {"ticket_id": list(range(12)), "subject": bodies(12)}
    columns |= {"body": bodies(12), "created": moments}
    error = asked(tmp_path, columns, context_key="subject")
    assert "no column can be the answer" in error.message
    found = inferred(table(tmp_path, {"body": bodies(12), "q": ["a", "b"] * 6, "created": moments}))
    assert (found["prompt_key"], found["answer_key"]) == ("body", "q")
    # A person may mean them all the same.
    named = table(tmp_path, {"body": bodies(12), "created": moments})
    assert inferred(named, answer_key="created")["prompt_key"] == "body"


@pytest.mark.parametrize("text", ["2024", "3.5", "1/2", "12-13-14-15", "May 5", "v1.2.24", "99:10"])
def test_numbers_and_codes_are_no_dates(text: str) -> None:
    assert not is_moment(text)


def test_choices_and_patterns_are_their_own_scorers(tmp_path: Path) -> None:
    record = {"question": "Which?", "choices": ["red", "blue"], "answer": "A"}
    assert inferred(write_lines(tmp_path / "c.jsonl", [record]))["scorer"] == "choice"
    record = {"prompt": "A year.", "pattern": r"\d{4}"}
    assert inferred(write_lines(tmp_path / "p.jsonl", [record]))["scorer"] == "regex"


@pytest.mark.parametrize(
    ("columns", "prompt", "answer"),
    [
        ({"question": "prose", "answer": "label"}, "", ""),
        ({"Question": "prose", "Reference": "label"}, "", ""),
        ({"ticket_id": "number", "body": "prose", "queue": "label"}, "body", "queue"),
        ({"id": "number", "text": "prose", "label": "label", "split": "label"}, "text", "label"),
        ({"queue": "label", "Message": "prose", "row": "number"}, "Message", "queue"),
        ({"ticketId": "number", "Message": "prose", "queue": "label"}, "Message", "queue"),
        ({"question": "prose", "points": "number"}, "", "points"),
        ({"body": "prose", "answer": "label", "priority": "label"}, "body", ""),
        ({"input": "label", "output": "label"}, "input", "output"),
    ],
)
def test_columns_with_one_reading_are_taken(
    tmp_path: Path, columns: dict[str, str], prompt: str, answer: str
) -> None:
    cells = {"prose": bodies(12), "label": ["a", "b"] * 6, "number": range(12)}
    found = inferred(table(tmp_path, {name: cells[kind] for name, kind in columns.items()}))
    assert (found.get("prompt_key", ""), found.get("answer_key", "")) == (prompt, answer)


def test_an_unclear_column_is_asked_for_with_what_it_may_be(tmp_path: Path) -> None:
    labels, numbers = ["a", "b"] * 6, list(range(12))
    error = asked(tmp_path, {"body": bodies(12), "queue": labels, "priority": labels})
    assert isinstance(error, DataError)
    assert error.message.endswith("unclear which column is the answer: `queue`, `priority`")
    assert error.hint == "name it, such as `env.answer_key=queue`"
    error = asked(tmp_path, {"subject": bodies(12), "body": bodies(12), "answer": labels})
    assert error.message.endswith("which column is the task text: `subject`, `body`")
    error = asked(tmp_path, {"text": bodies(12), "label": labels, "category": labels})
    assert error.message.endswith("which column is the answer: `label`, `category`")
    error = asked(tmp_path, {"question": bodies(12), "prompt": bodies(12), "answer": labels})
    assert error.message.endswith("which column is the task text: `prompt`, `question`")
    error = asked(tmp_path, {"id": numbers, "text": bodies(12)})
    assert "no column can be the answer among `id`, `text`" in error.message
    error = asked(tmp_path, {"points": numbers, "answer": labels})
    assert "no column can be the task text among" in error.message


@pytest.mark.parametrize(
    ("columns", "likeliest"),
    [
        ({"subject": "some", "queue": "label"}, "queue"),
        ({"subject": "name", "queue": "label"}, "queue"),
        ({"subject": "some", "queue": "gappy"}, "queue"),
        ({"queue": "gappy", "priority": "label"}, "priority"),
        ({"subject": "some", "sender": "name"}, "sender"),
        ({"queue": "label", "priority": "number"}, "queue"),
        ({"queue": "label", "priority": "label"}, "queue"),
    ],
)
def test_the_hint_names_the_likeliest_answer(
    tmp_path: Path, columns: dict[str, str], likeliest: str
) -> None:
    cells: dict[str, Sequence[object]] = {
        "label": [QUEUES[i % 3] for i in range(60)],
        "gappy": [QUEUES[i % 3] if i else "" for i in range(60)],
        "name": [f"Parcel {i}" for i in range(60)],
        "some": [f"Parcel {i}" if i % 7 else "" for i in range(60)],
        "number": range(60),
    }
    held = {name: cells[kind] for name, kind in columns.items()}
    error = asked(tmp_path, {**held, "body": bodies(60)})
    assert isinstance(error, Undetermined)
    # Where no column looks like one of labels, there may be no answers.
    labelled = {"label", "gappy"} & {*columns.values()}
    unanswered = "" if labelled else f"; {UNANSWERED}"
    assert error.hint == f"name it, such as `env.answer_key={likeliest}`{unanswered}"


@pytest.mark.parametrize(("times", "likeliest"), [(1, "body"), (3, "subject")])
def test_the_hint_names_the_likeliest_task_text(tmp_path: Path, times: int, likeliest: str) -> None:
    subjects = [f"Parcel {i} came late and wet. " * times for i in range(12)]
    columns = {"subject": subjects, "body": bodies(12), "answer": ["a", "b"] * 6}
    assert asked(tmp_path, columns).hint == f"name it, such as `env.prompt_key={likeliest}`"
    error = asked(tmp_path, {**columns, "subject": ["", *subjects[1:]]})
    assert error.hint == "name it, such as `env.prompt_key=body`"


def test_a_column_that_is_named_and_missing_is_told_with_those_there_are(tmp_path: Path) -> None:
    columns = {"body": bodies(12), "queue": ["a", "b"] * 6}
    error = asked(tmp_path, columns, answer_key="Queu")
    assert isinstance(error, ConfigError)
    assert error.message.startswith("`env.answer_key`: ")
    assert "no column `Queu`; it has `body`, `queue`" in error.message
    assert error.hint == "did you mean `env.answer_key=queue`?"
    assert asked(tmp_path, columns, prompt_key="xyz").hint == (
        "if one of `body`, `queue` is meant, name it with `env.prompt_key=NAME`"
    )


@pytest.mark.parametrize(
    ("columns", "words", "likely"),
    [
        ({"answer": ["1", "2", "n/a", "4"]}, "3 of 4 answers are numbers, `n/a` is none", "exact"),
        ({"answer": [" ".join(["word"] * 30)] * 4}, "long, 30 words usually", "judge"),
        ({"answer": ["a"] * 4, "pattern": ["x"] * 4}, "answers and a `pattern`", "regex"),
        ({"answer": ["a"] * 4, "choices": ["a|b", "", "", ""]}, "of 4 tasks have `choices`", "f1"),
    ],
)
def test_a_scorer_that_is_unclear_is_asked_for(
    tmp_path: Path, columns: dict[str, list[str]], words: str, likely: str
) -> None:
    error = asked(tmp_path, {"question": bodies(4), **columns})
    assert words in error.message
    assert f"`env.scorer={likely}`" in error.hint
    found = inferred(table(tmp_path, {"question": bodies(4), **columns}), scorer="f1")
    assert "scorer" not in found


@pytest.mark.parametrize(
    ("name", "answers", "seed"),
    [
        ("queue", ["a b", "c"] * 6, "Give the queue of the text, one of:\n\n- a b\n- c\n"),
        ("answer", ["yes", "no"] * 6, "Answer with one of these:\n\n- no\n- yes\n"),
        ("unit_price", list(range(0, 120, 10)), "Give the unit price of the text.\n"),
        ("fields", ['{"b": 1, "a": 2}'] * 12, "Give a JSON object with the fields b, a.\n"),
        ("answer", list(range(0, 120, 10)), None),
    ],
)
def test_the_seed_skill_names_what_is_asked_for(
    tmp_path: Path, name: str, answers: list[object], seed: str | None
) -> None:
    found = inferred(table(tmp_path, {"body": bodies(12), name: answers}))
    assert found.get("seed_skill") == (f"# Task\n\n{seed}" if seed else None)


def test_splits_that_are_cut_already_are_not_cut(tmp_path: Path) -> None:
    record = {"body": BODY, "queue": "a"}
    folder = write_splits(tmp_path, [record] * 2, [record], [record])
    assert SPEC.infer is not None
    found = SPEC.infer(BenchmarkRequest(split_dir=folder)).settings
    assert "split_ratio" not in found and found["prompt_key"].value == "body"


@pytest.mark.parametrize(
    ("name", "cells", "taken"),
    [
        ("ticket_id", [f"t{i}" for i in range(12)], True),
        ("Ticket ID", range(12), True),
        ("ticketId", range(12), True),
        ("orderid", range(12), True),
        ("UUID", [f"{i}-a" for i in range(12)], True),
        ("ticket_id", [f"t{i % 11}" for i in range(12)], False),
        ("ticket_id", ["", *range(11)], False),
        ("row", range(12), False),
        ("id", range(12), False),
        ("ID", range(12), False),
        ("id", [0, *range(11)], False),
    ],
)
def test_a_column_of_ids_is_taken_where_it_has_another_value_in_each_row(
    tmp_path: Path, name: str, cells: Sequence[object], taken: bool
) -> None:
    columns = {"body": bodies(12), name: list(cells), "queue": ["a", "b"] * 6}
    path = table(tmp_path, columns)
    found = inferred(path, answer_key="queue")
    assert found.get("id_key") == (name if taken else None)
    if name != "id" or len(set(cells)) == 12:
        ratio = found.pop("split_ratio")
        options = {"answer_key": "queue", **found}
        opened = SPEC.open(BenchmarkRequest(data_path=path, split_ratio=ratio, options=options))
        ids = {task.id for split in SPLITS for task in opened.tasks(split)}
        own = taken or name.casefold() == "id"
        assert ids == set(map(str, cells)) if own else all(i.startswith("task-") for i in ids)


def test_an_id_is_neither_task_text_nor_answer_and_a_setting_names_another(tmp_path: Path) -> None:
    ids = [f"Ticket number {i} of the shop" for i in range(12)]
    columns = {"mail_id": ids, "ticket_id": range(12), "answer": ["a", "b"] * 6}
    found = inferred(table(tmp_path, columns), prompt_key="mail_id")
    assert found["id_key"] == "ticket_id"
    columns = {"body": bodies(12), "a_id": range(12), "b_id": range(12), "queue": ["a", "b"] * 6}
    assert inferred(table(tmp_path, columns))["id_key"] == "a_id"
    assert inferred(table(tmp_path, columns), id_key="b_id")["id_key"] == "b_id"
    assert "no column `c_id`" in asked(tmp_path, columns, id_key="c_id").message


def test_a_column_that_a_setting_names_is_shown_with_each_task(tmp_path: Path) -> None:
    titles = [f"The order of the customer with number {n}" for n in range(12)]
    columns = {"title": titles, "body": bodies(12), "queue": ["a", "b"] * 6, "context": ["x"] * 12}
    path = table(tmp_path, columns)
    found = inferred(path, answer_key="queue", context_key="title")
    assert found["prompt_key"] == "body"
    assert SPEC.infer is not None
    options = {"answer_key": "queue", "context_key": "title"}
    stated = SPEC.infer(BenchmarkRequest(data_path=path, options=options)).unused
    assert stated == "not used: context"
    ratio = found.pop("split_ratio")
    opened = SPEC.open(
        BenchmarkRequest(data_path=path, split_ratio=ratio, options={**options, **found})
    )
    tasks = [task for split in SPLITS for task in opened.tasks(split)]
    assert {task.data["context"] for task in tasks} == set(titles)
    assert "no column `titel`" in asked(tmp_path, columns, context_key="titel").message


def cells(name: str) -> list[str]:
    """The cells of a column that is named like one of ids or not."""
    ids = [f"t{n}" for n in range(12)]
    half = [one if one > "t2" else "" for one in ids]
    special = {"own_id": ids, "half_id": half, "half": half}
    special |= {f"codes_{k}": [f"C{n % k}" for n in range(12)] for k in (3, 11)}
    return special.get(name, ["x"] * 12)


def test_a_text_as_the_answer_beside_labels_is_warned_of(tmp_path: Path) -> None:
    columns = {
        "body": bodies(12),
        "subject": [f"Parcel {n} late" for n in range(12)],
        "queue": [QUEUES[n % 3] for n in range(12)],
    }
    path = table(tmp_path, columns)

    def unused(**options: str) -> str:
        assert SPEC.infer is not None
        return SPEC.infer(BenchmarkRequest(data_path=path, options=options)).unused

    said = unused(prompt_key="body", answer_key="subject")
    assert "hardly any two tasks have the same `subject`, the answer, while `queue`" in said
    assert said.endswith("(`env.answer_key=queue` if these are meant)")
    assert "warning" not in unused(prompt_key="body", answer_key="queue")


@pytest.mark.parametrize(
    ("name", "cells", "warned"),
    [
        ("id", [str(n) for n in range(12)], True),
        ("order_no", [str(n) for n in range(12)], True),
        ("code", [f"T{n}" for n in range(12)], True),
        ("price", [str(n) for n in range(12)], False),
        ("number", [str(n % 4) for n in range(12)], False),
    ],
)
def test_ids_as_the_answers_are_warned_of(
    tmp_path: Path, name: str, cells: list[str], warned: bool
) -> None:
    path = table(tmp_path, {name: cells, "body": bodies(12)})
    request = BenchmarkRequest(data_path=path, options={"prompt_key": "body", "answer_key": name})
    assert SPEC.infer is not None
    said = SPEC.infer(request).unused
    assert warned is (f"no two tasks have the same `{name}`, the answer, and the column" in said)


@pytest.mark.parametrize(
    ("more", "unused"),
    [
        ([], ""),
        (["context", "kind"], ""),
        (["subject"], "subject (`env.context_key=subject` shows it with each task)"),
        (["subject", "context"], "subject"),
        (["row", "question", "priority"], "row, question, priority (`env.context_key=question`"),
        ([f"c{n}" for n in range(9)], "c0, c1, c2, c3, c4, c5, c6, c7, ... (9 in all) (`env."),
        (["pattern"], "pattern"),
        (["answer"], "answer (`env.context_key=answer`"),
        (["customer_id"], "customer_id (no ids of tasks: several have `x`)"),
        (["customerId", "paid"], "customerId (no ids of tasks: several have `x`), paid (`env.c"),
        (["customer_id", "own_id"], "customer_id"),
        (["half_id"], "half_id (no ids of tasks: some have none)"),
        (["half"], "half (no ids of tasks: some have none)"),
        (["codes_11"], "codes_11 (no ids of tasks: several have `C0`)"),
        (["codes_3"], "codes_3 (`env.context_key=codes_3`"),
    ],
)
def test_columns_that_are_not_used_are_stated(tmp_path: Path, more: list[str], unused: str) -> None:
    columns = {"body": bodies(12), "queue": ["a", "b"] * 6, **{name: cells(name) for name in more}}
    assert SPEC.infer is not None
    options = {"prompt_key": "body", "answer_key": "queue", "scorer": "exact"}
    request = BenchmarkRequest(data_path=table(tmp_path, columns), options=options)
    stated = SPEC.infer(request).unused
    assert stated.startswith(f"not used: {unused}") if unused else not stated


@pytest.mark.parametrize(
    ("name", "cells", "taken"),
    [
        ("ticket", [f"T{n:03}" for n in range(12)], True),
        ("order", [f"ORD-{n}" for n in range(12)], True),
        ("ticket", [f"T{n % 11:03}" for n in range(12)], False),
        ("ticket", ["", *(f"T{n:03}" for n in range(11))], False),
        ("mixed", [f"{'AB'[n % 2]}{n}" for n in range(12)], False),
        ("spaced", [f"T {n}" for n in range(12)], False),
        ("points", range(12), False),
        ("kind", [f"T{n}" for n in range(12)], False),
    ],
)
def test_codes_of_one_form_are_ids_whatever_their_name(
    tmp_path: Path, name: str, cells: Sequence[object], taken: bool
) -> None:
    columns = {"body": bodies(12), name: list(cells), "queue": ["a", "b"] * 6}
    found = inferred(table(tmp_path, columns), prompt_key="body", answer_key="queue")
    assert found.get("id_key") == (name if taken else None)
    named = {"body": bodies(12), name: list(cells), "own_id": range(12), "queue": ["a", "b"] * 6}
    found = inferred(table(tmp_path, named), prompt_key="body", answer_key="queue")
    assert found["id_key"] == "own_id"


def test_a_code_that_is_the_answer_is_no_id(tmp_path: Path) -> None:
    columns = {"body": bodies(12), "part": [f"P{n}" for n in range(12)]}
    assert "id_key" not in inferred(table(tmp_path, columns), answer_key="part")


def test_a_table_without_a_row_of_names_is_recognised(tmp_path: Path) -> None:
    first = {"Where is it?": bodies(12), "login": list(QUEUES) * 4}
    for options in ({"answer_key": "queue"}, {"prompt_key": "body"}):
        error = asked(tmp_path, first, **options)
        assert error.hint.startswith("the first row has to name the columns and looks like data")
    dated = {"Where is it?": bodies(12), "2024-03-01": ["2024-03-02"] * 12}
    assert "add a row of names" in asked(tmp_path, dated, answer_key="queue").hint
    named = {"body": bodies(12), "queue": list(QUEUES) * 4}
    assert "first row" not in asked(tmp_path, named, answer_key="label").hint


@pytest.mark.parametrize("key", ["prompt_key", "context_key"])
def test_one_column_is_not_both_shown_and_the_answer(tmp_path: Path, key: str) -> None:
    columns = {"body": bodies(12), "queue": list(QUEUES) * 4}
    error = asked(tmp_path, columns, answer_key="queue", **{key: "queue"})
    assert isinstance(error, ConfigError)
    assert error.message.startswith(f"`env.{key}` and `env.answer_key` both name `queue`")
    options = {"prompt_key": "body", "answer_key": "queue", key: "queue"}
    with pytest.raises(ConfigError, match="both name `queue`"):
        SPEC.open(BenchmarkRequest(data_path=table(tmp_path, columns), options=options))


@pytest.mark.parametrize(
    ("rare", "why"),
    [
        ([], "answers are 3 labels"),
        (["legal"], "answers are 3 labels; 1 more occurs once"),
        (["legal", "misc"], "answers are 3 labels; 2 more occur once"),
    ],
)
def test_labels_of_one_task_are_counted_apart(tmp_path: Path, rare: list[str], why: str) -> None:
    answers = [*QUEUES * 10, *rare]
    path = table(tmp_path, {"text": bodies(len(answers)), "queue": answers})
    assert SPEC.infer is not None
    request = BenchmarkRequest(data_path=path, options={"answer_key": "queue"})
    assert SPEC.infer(request).settings["scorer"].why == why


def test_the_tasks_of_a_cut_file_are_counted_without_repeated_ones(tmp_path: Path) -> None:
    answers = [*QUEUES * 10]
    path = table(tmp_path, {"text": bodies(10) * 3, "queue": [answers[n % 10] for n in range(30)]})
    assert SPEC.infer is not None
    request = BenchmarkRequest(data_path=path, options={"answer_key": "queue"})
    found = SPEC.infer(request).settings
    assert found["split_ratio"].why == "10 tasks, half to train on"
    options = {key: one.value for key, one in found.items() if key != "split_ratio"}
    opened = SPEC.open(BenchmarkRequest(data_path=path, options={**request.options, **options}))
    assert sum(len(opened.tasks(split)) for split in SPLITS) == 10


@pytest.mark.parametrize(
    ("written", "right", "hint"),
    [
        ("expectd", "expected", "did you mean `expected` by `expectd`?"),
        ("remark", "expected", UNANSWERED),
        ("qestion", "question", "did you mean `question` by `qestion`?"),
        ("x", "question", "add it, or remove the records"),
    ],
)
def test_all_records_without_a_field_that_others_have_are_listed(
    tmp_path: Path, written: str, right: str, hint: str
) -> None:
    records = [{"question": body, "expected": {"n": i}} for i, body in enumerate(bodies(30))]
    wrong = [{written if k == right else k: v for k, v in record.items()} for record in records]
    path = write_lines(tmp_path / "t.jsonl", [*records[:16], *wrong[16:28], *records[28:]])
    with pytest.raises(DataError) as caught:
        inferred(path)
    lines = ", ".join(str(n) for n in range(17, 27))
    assert caught.value.message == f"{path}, lines {lines}, ... (12 in all): `{right}` is missing"
    assert caught.value.hint.startswith(hint)


def test_one_record_without_a_field_is_named_alone(tmp_path: Path) -> None:
    records = [{"email": body, "expected": {"n": i}} for i, body in enumerate(bodies(12))]
    path = write_lines(tmp_path / "t.jsonl", [*records, {"email": "x", "expected": None}])
    with pytest.raises(DataError) as caught:
        inferred(path)
    assert caught.value.message == f"{path}, line 13: `expected` is missing"
