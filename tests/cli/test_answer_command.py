"""`skillopt answer`: a skill applied to tasks without answers."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from command_line import TINY, events, refused, skillopt

from skillopt_cli.benchmarks.folder.tasks import UNANSWERED
from skillopt_cli.runlog.run_log import read_view

COLUMNS = ["id", "input", "answer", "reply", "error"]
ALONE = ("--skill", "s.md", "--set", "model.backend=simulated")
BROKEN = (
    *("--set", "model.simulated.permanent_failure_rate=1"),
    *("--set", "model.retry.max_attempts=1"),
)


@pytest.fixture(autouse=True)
def files() -> None:
    """Labelled tickets, new ones without a column of answers, and a skill."""
    labelled = "\n".join(
        f"t{n},Ticket {n} about {queue} and more,{queue}"
        for n in range(10)
        for queue in [("billing", "login")[n % 2]]
    )
    Path("tickets.csv").write_text(f"ticket_id,body,queue\n{labelled}\n", encoding="utf-8")
    new = "".join(f"n{n},Please see to number {n} today\n" for n in (3, 1, 2))
    Path("new.csv").write_text(f"ticket_id,body\n{new}", encoding="utf-8")
    Path("s.md").write_text("# Sort\n\nName the queue.\n", encoding="utf-8")


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def trained(*settings: str) -> None:
    ended = skillopt("train", "tickets.csv", *TINY, "--run-id", "r", *settings)
    assert ended.code == 0, ended.err


def test_each_task_has_a_row_in_the_order_of_the_file() -> None:
    ended = skillopt("answer", "new.csv", *ALONE, "--run-id", "a")
    assert ended.code == 0, ended.err
    found = table(ended.out)
    assert list(found[0]) == COLUMNS
    assert [row["id"] for row in found] == ["n3", "n1", "n2"]
    assert found[0]["input"] == "Please see to number 3 today"
    assert all(row["answer"] and row["answer"] in row["reply"] for row in found)
    assert not any(row["error"] for row in found)
    assert "answered 3 of 3 tasks; details: outputs/folder/a" in ended.err
    assert len(events(Path("outputs/folder/a"), "rollout_finished")) == 3


def test_settings_come_from_the_run_and_its_cuts_do_not() -> None:
    cut = ("env.limit=2", "evaluation.test_env_num=1", "env.answer_format=End with ANSWER")
    trained(*(text for setting in cut for text in ("--set", setting)))
    ended = skillopt("answer", "new.csv", "--skill", "r:best", "--run-id", "a")
    assert ended.code == 0, ended.err
    assert [row["id"] for row in table(ended.out)] == ["n3", "n1", "n2"]
    config = Path("outputs/folder/a/config.yaml").read_text(encoding="utf-8")
    for line in ("prompt_key: body", "id_key: ticket_id", "answer_format: End with ANSWER"):
        assert line in config
    few = skillopt("answer", "new.csv", "--skill", "r:best", "--set", "env.limit=2")
    assert [row["id"] for row in table(few.out)] == ["n3", "n1"]


def test_nothing_has_a_score() -> None:
    ended = skillopt("answer", "new.csv", *ALONE, "--run-id", "a", "--display", "plain")
    assert "0.00" not in ended.err and "hard" not in ended.err
    head = "\nRun: folder a\nSkill: s.md (first line: Sort)\nModels: target simulated\n"
    assert head in ended.err
    run = Path("outputs/folder/a")
    for event in events(run, "rollout_finished"):
        assert (event["hard"], event["soft"], event["ending"]) == (None, None, "answered")
    assert not read_view(run).tests and not read_view(run).broken
    results = (run / "answers/results.jsonl").read_text(encoding="utf-8")
    for row in map(json.loads, results.splitlines()):
        assert (row["hard"], row["expected"], row["agent_ok"]) == (None, [], True)
    listed = skillopt("runs", "list").out
    assert "0.00" not in listed and re.search(r"a +finished +answer +-", listed)
    assert "evaluation" not in ended.err and "\nFinished in " in ended.err
    assert not (run / "eval_summary.json").exists()
    refused(2, "runs", "export", "a")


def test_answers_that_the_file_has_are_neither_needed_nor_read() -> None:
    ended = skillopt("answer", "tickets.csv", *ALONE, "--prompt-key", "body", "--run-id", "a")
    assert len(table(ended.out)) == 10
    lines = Path("tickets.csv").read_text(encoding="utf-8").replace(",billing\n", ",\n")
    Path("tickets.csv").write_text(lines, encoding="utf-8")
    ended = skillopt("answer", "tickets.csv", *ALONE, "--prompt-key", "body")
    assert len(table(ended.out)) == 10, ended.err


def test_equal_tasks_are_each_answered() -> None:
    Path("new.jsonl").write_text('{"question": "Same?"}\n' * 3, encoding="utf-8")
    ended = skillopt("answer", "new.jsonl", *ALONE)
    assert [row["id"] for row in table(ended.out)] == ["line-1", "line-2", "line-3"]
    same = "ticket_id,body\nn1,The same text here\nn2,The same text here\n"
    Path("new.csv").write_text(same, encoding="utf-8")
    trained()
    ended = skillopt("answer", "new.csv", "--skill", "r:best")
    assert [row["id"] for row in table(ended.out)] == ["n1", "n2"]


@pytest.mark.parametrize(
    "scorer", ["exact", "f1", "contains", "numeric", "regex", "json", "choice", "judge"]
)
def test_no_scorer_needs_what_it_would_score_by(scorer: str) -> None:
    ended = skillopt("answer", "new.csv", *ALONE, "--scorer", scorer, "--run-id", "a")
    assert len(table(ended.out)) == 3, ended.err
    assert {e["role"] for e in events(Path("outputs/folder/a"), "call_made")} == {"target"}


def test_broken_attempts_keep_their_rows_and_end_as_those_of_an_evaluation() -> None:
    ended = refused(6, "answer", "new.csv", *ALONE, *BROKEN, "--out", "a.csv")
    assert "3 of 3 attempts could not be made" in ended.error
    found = table(Path("a.csv").read_text(encoding="utf-8"))
    assert [row["answer"] for row in found] == ["", "", ""]
    assert all("fails on this task" in row["error"] for row in found)


def test_a_cap_leaves_rows_that_were_not_attempted() -> None:
    ended = skillopt("answer", "new.csv", *ALONE, "--max-calls", "2", "--set", "run.workers=1")
    assert ended.code == 5
    found = table(ended.out)
    assert len(found) == 3
    assert found[-1]["error"] == "not attempted"


def test_a_shared_cache_makes_the_same_answers_free_and_no_evaluation_takes_them() -> None:
    shared = (*ALONE, "--set", "run.cache_dir=cache", "--set", "env.scorer=regex")
    shared = (*shared, "--set", "env.pattern=told")
    for run, made in (("a", 3), ("b", 0)):
        ended = skillopt("answer", "new.csv", *shared, "--run-id", run)
        assert ended.code == 0, ended.err
        attempted = events(Path("outputs/folder", run), "rollout_finished")
        assert sum(not event["recalled"] for event in attempted) == made
    keys = ("--prompt-key", "body", "--set", "env.id_key=ticket_id")
    found = skillopt(*(
        "eval",
        "folder",
        "--tasks",
        "new.csv",
        "--split",
        "all",
        "--json",
        *shared,
        *keys,
    ))
    assert found.json["scored"] == 3, found.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.csv", *ALONE), "nowhere.csv does not exist"),
        ((".", *ALONE), "is no task file"),
        (("new.csv", *ALONE, "--tasks", "tickets.csv"), "named twice"),
        (("new.csv", *ALONE, "--set", "env.split_dir=splits"), "named twice"),
        (("new.csv", "--skill", "nothing.md"), "nothing.md"),
        (("new.csv",), "no skill is named"),
        (("new.csv", *ALONE, "--from-scratch"), "exclude each other"),
    ],
)
def test_what_cannot_be_answered_is_refused(arguments: tuple[str, ...], said: str) -> None:
    assert said in refused(2, "answer", *arguments).error
    assert not Path("outputs").exists()


@pytest.mark.parametrize(
    ("head", "said", "hint"),
    [
        ("ticket_id,bdy", "no column `body`; it has `ticket_id`, `bdy`", "--prompt-key bdy`?"),
        (
            "ticketid,body",
            "no column `ticket_id`; it has",
            "did you mean `--set env.id_key=ticketid`?",
        ),
        ("ticket_id,words", "no column `body`; it has", "name it with `--prompt-key NAME`"),
    ],
)
def test_a_file_without_a_column_of_the_run_is_refused_as_a_training_refuses_it(
    head: str, said: str, hint: str
) -> None:
    trained()
    Path("new.csv").write_text(f"{head}\nn1,Please see to it\n", encoding="utf-8")
    ended = refused(2, "answer", "new.csv", "--skill", "r:best")
    assert said in ended.error
    assert hint in ended.hint
    key = "prompt_key=body" if "body`;" in said else "id_key=ticket_id"
    columns = ("--set", f"env.{key}", "--answer-key", head.partition(",")[0])
    trains = refused(2, "train", "new.csv", *TINY, *columns)
    assert (trains.error.split("new.csv")[1], trains.hint) == (
        ended.error.split("new.csv")[1],
        ended.hint,
    )


def test_a_file_without_the_context_column_of_the_run_is_refused() -> None:
    rows = [f"t{n},Subject {n},Ticket {n} of {('billing', 'login')[n % 2]}" for n in range(10)]
    body = "\n".join(f"{row},{('billing', 'login')[n % 2]}" for n, row in enumerate(rows))
    Path("tickets.csv").write_text(f"ticket_id,subject,body,queue\n{body}\n", encoding="utf-8")
    trained("--answer-key", "queue", "--prompt-key", "body", "--context-key", "subject")
    ended = refused(2, "answer", "new.csv", "--skill", "r:best")
    assert "has no column `subject`" in ended.error
    assert "`--context-key NAME`" in ended.hint
    Path("new.csv").write_text("ticket_id,subjects,body\nn1,Lamp,Please see\n", encoding="utf-8")
    ended = refused(2, "answer", "new.csv", "--skill", "r:best")
    assert "`--context-key subjects`" in ended.hint
    again = ("--context-key", "subjects", "--trust")
    assert skillopt("answer", "new.csv", "--skill", "r:best", *again).code == 0


def test_a_file_that_exists_is_replaced_on_request_only() -> None:
    out = Path("answers.csv")
    out.write_text("old", encoding="utf-8")
    command = ("answer", "new.csv", *ALONE, "--out", out)
    ended = refused(2, *command)
    assert ended.error == "error: answers.csv exists already"
    assert ended.hint == "hint: choose another file with --out, or replace it with --force"
    assert out.read_text(encoding="utf-8") == "old"
    assert skillopt(*command, "--force").code == 0
    assert len(table(out.read_text(encoding="utf-8"))) == 3


def test_only_own_tasks_are_read_without_answers() -> None:
    ended = skillopt("train", "searchqa", *TINY, "--epochs", "1", "--run-id", "q")
    assert ended.code == 0, ended.err
    ended = refused(2, "answer", "new.csv", "--skill", "q:best")
    assert "`searchqa` reads no tasks without answers" in ended.error


def test_an_evaluation_of_a_file_without_answers_names_the_command() -> None:
    ended = refused(3, "eval", "new.csv", "--split", "all", *ALONE)
    assert "new.csv: no column can be the answer" in ended.error
    assert "`--answer-key NAME`" in ended.hint
    assert UNANSWERED in ended.hint
    trained()
    ended = refused(3, "eval", "--tasks", "new.csv", "--split", "all", "--skill", "r:best")
    assert ended.error.endswith("new.csv, line 2: `queue` is missing, which `env.answer_key` names")
    assert ended.hint == (
        "hint: the record has `ticket_id`, `body`; if one of these is meant, name it with"
        f" `--answer-key NAME`; {UNANSWERED}"
    )


def test_so_does_one_of_tasks_under_the_usual_names() -> None:
    Path("new.jsonl").write_text('{"question": "Which queue?"}\n', encoding="utf-8")
    ended = refused(3, "eval", "folder", "--tasks", "new.jsonl", "--split", "all", *ALONE)
    assert UNANSWERED in ended.hint


def made(run: str) -> int:
    """Attempts of a run that were not recalled from its journal."""
    finished = events(Path("outputs/folder", run), "rollout_finished")
    return sum(not event["recalled"] for event in finished)


@pytest.mark.parametrize("out", [(), ("--out", "a.csv")])
def test_what_was_stopped_is_taken_up_and_nothing_is_paid_for_twice(out: tuple[str, ...]) -> None:
    whole = skillopt("answer", "new.csv", *ALONE, "--run-id", "whole").out
    capped = ("--max-rollouts", "2", "--workers", "1", "--run-id", "a")
    ended = skillopt("answer", "new.csv", *ALONE, *capped, *out)
    assert ended.code == 5
    assert "resume a" in ended.err
    partial = Path("a.csv").read_text(encoding="utf-8") if out else ended.out
    assert [row["error"] for row in table(partial)] == ["", "", "not attempted"]
    for _ in range(2):  # a finished one has nothing to do, and writes its table again
        ended = skillopt("resume", "a", "--max-rollouts", "9")
        assert ended.code == 0, ended.err
        assert (Path("a.csv").read_text(encoding="utf-8") if out else ended.out) == whole
        assert made("a") == 3
    rows = skillopt("resume", "a", "--json").json["answers"]
    assert [row["answer"] for row in rows] == [row["answer"] for row in table(whole)]


def test_a_judge_is_not_needed_to_take_them_up() -> None:
    judged = ("--scorer", "judge", "--max-rollouts", "1", "--workers", "1", "--run-id", "a")
    unknown = ("--set", "model.judge.backend=openai_compatible")
    assert skillopt("answer", "new.csv", *ALONE, *judged, *unknown).code == 5
    ended = skillopt("resume", "a", "--max-rollouts", "9")
    assert ended.code == 0, ended.err
    assert {e["role"] for e in events(Path("outputs/folder/a"), "call_made")} == {"target"}


def test_other_tasks_are_not_answered_in_their_place() -> None:
    capped = ("--max-rollouts", "1", "--workers", "1", "--run-id", "a")
    assert skillopt("answer", "new.csv", *ALONE, *capped).code == 5
    text = Path("new.csv").read_text(encoding="utf-8")
    Path("new.csv").write_text(text.replace("number 2", "number 9"), encoding="utf-8")
    assert "the test split differs in 1 task: n2" in refused(2, "resume", "a").err


def test_a_run_on_a_folder_of_splits_lends_its_settings() -> None:
    lines = Path("tickets.csv").read_text(encoding="utf-8").splitlines()
    for split, part in (("train", lines[1:5]), ("selection", lines[5:8]), ("test", lines[8:])):
        folder = Path("splits", split)
        folder.mkdir(parents=True)
        (folder / "t.csv").write_text("\n".join([lines[0], *part]), encoding="utf-8")
    ended = skillopt("train", "splits", *TINY, "--run-id", "r")
    assert ended.code == 0, ended.err
    ended = skillopt("answer", "new.csv", "--skill", "r:best")
    assert [row["id"] for row in table(ended.out)] == ["n3", "n1", "n2"], ended.err


def test_an_export_names_the_file_of_answers() -> None:
    assert skillopt("answer", "new.csv", *ALONE, "--run-id", "a").code == 0
    ended = refused(2, "runs", "export", "a")
    assert "outputs/folder/a has answers and no scores" in ended.error
    assert "its answers are in outputs/folder/a/answers.jsonl" in ended.hint


def test_the_help_has_no_flag_of_tasks_with_answers() -> None:
    shown = skillopt("answer", "--help").out
    for flag in ("--tasks", "--split-dir", "--answer-key"):
        assert flag not in shown and flag in skillopt("eval", "--help").out
    assert "--scorer" in shown and "--prompt-key" in shown
