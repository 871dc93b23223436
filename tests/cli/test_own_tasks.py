"""Own tasks by their path: every command takes them, and a run keeps what was inferred."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import yaml
from command_line import SMALLEST, TINY, events, refused, rows, skillopt

import skillopt_cli
from skillopt_cli.compose.own_tasks import inferred_line
from skillopt_cli.config import RunConfig
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.task import SPLITS
from skillopt_cli.plugins import load_benchmark
from skillopt_cli.ports import BenchmarkRequest

LABELS = ("yes", "no")


@pytest.fixture(autouse=True)
def tasks() -> None:
    """`t.jsonl`, and the same in splits below `cut`."""
    lines = [
        json.dumps({"id": f"q{i}", "text": f"Is item {i} in the box?", "verdict": LABELS[i % 2]})
        for i in range(40)
    ]
    Path("t.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for split, part in (("train", lines[:20]), ("val", lines[20:30]), ("test", lines[30:])):
        folder = Path("cut", split)
        folder.mkdir(parents=True)
        (folder / "t.jsonl").write_text("\n".join(part), encoding="utf-8")


def env(run: str) -> dict[str, object]:
    path = Path("outputs/folder", run, "config.yaml")
    loaded = yaml.safe_load(path.read_text(encoding="utf-8"))["env"]
    assert isinstance(loaded, dict)
    return loaded


INFERRED = (
    "Inferred: prompt_key text (the only text), answer_key verdict (the only one left), scorer"
    " exact (answers are 2 labels), split_ratio 2:1:1 by label (40 tasks, half to train on),"
    " seed_skill (names the labels)"
)


def test_a_file_alone_trains_and_the_run_keeps_what_was_inferred() -> None:
    ended = skillopt("train", "t.jsonl", *TINY, "--run-id", "a")
    assert ended.code == 0, ended.err
    assert ended.err.count(INFERRED) == 1
    assert "t.jsonl cut 2:1:1 by label, seed 42 (20 train / 10 selection / 10 test)" in ended.err
    held = env("a")
    assert held["name"] == "folder" and held["data_path"] == str(Path("t.jsonl").absolute())
    wanted = {"prompt_key": "text", "answer_key": "verdict", "scorer": "exact"}
    assert {key: held[key] for key in wanted} == wanted
    assert held["split_ratio"] == "2:1:1 by label" and "- no\n- yes\n" in str(held["seed_skill"])
    # Nothing is inferred anew where a run is taken up or measured.
    Path("t.jsonl").write_text(Path("t.jsonl").read_text(encoding="utf-8"), encoding="utf-8")
    for command in (("resume", "a"), ("eval", "--skill", "a:best")):
        again = skillopt(*command)
        assert again.code == 0, again.err
        assert "Inferred" not in again.err


def test_a_verdict_on_labels_has_the_score_of_the_commonest_answer() -> None:
    ended = skillopt("train", "t.jsonl", *TINY, "--run-id", "a")
    assert ended.code == 0, ended.err
    run = Path("outputs/folder/a")
    majority = json.loads((run / "summary.json").read_text(encoding="utf-8"))["majority_baseline"]
    results = (run / "test/seed/results.jsonl").read_text(encoding="utf-8").splitlines()
    expected = [json.loads(line)["expected"] for line in results]
    share = expected.count([majority["answer"]]) / len(expected)
    assert (majority["score"], majority["n"]) == (share, len(expected))
    first, *_ = majority["sentences"]
    assert first.startswith(
        f'Majority baseline: always answering "{majority["answer"]}" (one of 2 equally common'
        f" labels, the hardest of them to beat) scores {share:.2f} on the "
    )
    verdict = ended.out.splitlines().index(first) - 1
    assert "seed" in ended.out.splitlines()[verdict]
    # Once, with the result; the line of the run is short.
    assert first not in ended.err and ended.err.count("\nVerdict: ") == 1
    for form in ("table", "md", "html"):
        shown = skillopt("gate-report", "a", "--format", form).out
        assert "Majority baseline: always answering" in shown
    (told,) = skillopt("gate-report", "a", "--json").json["runs"]
    assert told["summary"]["majority_baseline"] == majority


def test_an_evaluation_on_labels_is_compared_with_the_commonest_answer_as_a_training_is() -> None:
    ended = skillopt("train", "t.jsonl", *TINY, "--run-id", "a")
    assert ended.code == 0, ended.err
    summary = json.loads(Path("outputs/folder/a/summary.json").read_text(encoding="utf-8"))
    trained = summary["majority_baseline"]
    measured = ("eval", "--skill", "a:best", "--run-id", "e", "--json")
    found = skillopt(*measured).json["majority_baseline"]
    assert {key: found[key] for key in ("answer", "score", "n", "verdict")} == {
        key: trained[key] for key in ("answer", "score", "n", "verdict")
    }
    sentence, *missed = found["sentences"]
    assert found["never_right"] == trained["never_right"]
    assert bool(missed) is bool(found["never_right"])
    assert sentence == re.sub("the trained skill|the seed", "the skill", trained["sentences"][0])
    assert sentence in skillopt("eval", "--skill", "a:best").out.splitlines()
    for form in ("table", "md", "html"):
        shown = skillopt("gate-report", "e", "--format", form).out
        assert "Majority baseline: always answering" in shown
    alone = skillopt("eval", "t.jsonl", *TINY, "--from-scratch")
    assert "Majority baseline: " in alone.out and ", no skill 0." in alone.out
    assert "Never right with no skill: " in alone.out

    arms = ("eval", "--skill", "a", "--arms", "seed,best", "--repeats", "2", "--split", "all")
    compared = skillopt(*arms, "--json").json["arms"]
    shown = skillopt(*arms).out
    for arm in compared:
        sentence, *missed = arm["majority_baseline"]["sentences"]
        named = f"Never right with `{arm['name']}`: "
        assert [line.startswith(named) and line in shown for line in missed] == [True] * len(missed)
        assert len(missed) == bool(arm["majority_baseline"]["never_right"])
        assert f", `{arm['name']}` {arm['value']:.2f} (" in sentence and sentence in shown


def test_an_evaluation_without_labels_has_no_majority_baseline() -> None:
    found = skillopt("eval", "searchqa", *TINY, "--from-scratch", "--json").json
    assert "majority_baseline" not in found


def test_a_verdict_on_labels_follows_from_the_folder_alone_also_against_the_commonest_answer() -> (
    None
):
    ended = skillopt("train", "t.jsonl", *TINY, "--run-id", "a")
    assert ended.code == 0, ended.err
    run = Path("outputs/folder/a")
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    majority = summary["majority_baseline"]
    constant = majority["verdict"]
    assert (constant["seed"], constant["n"]) == (majority["score"], majority["n"])
    assert constant["best"] == summary["test_hard"]
    said = summary["verdict"]["sentence"]
    caveat = f' than always answering "{majority["answer"]}".'
    assert said.endswith(caveat) is (constant["word"] != "improved")
    assert said in ended.out

    (told,) = skillopt("gate-report", "a", "--recompute", "--json").json["runs"]
    assert told["agrees"]
    assert told["recorded"] == told["recomputed"] == summary["verdict"]
    assert told["majority_baseline"] == majority
    shown = skillopt("gate-report", "a", "--recompute").out
    assert said in shown and majority["sentences"][0] in shown

    results = run / "test/majority/results.jsonl"
    whole = results.read_text(encoding="utf-8")
    results.write_text(whole.replace('"hard": 0.0', '"hard": 1.0'), encoding="utf-8")
    ended = refused(3, "gate-report", "a", "--recompute")
    assert "a: majority_baseline.seed: recorded" in ended.error
    results.unlink()
    assert "cannot be read" in refused(3, "gate-report", "a", "--recompute").error


@pytest.mark.parametrize("flags", [("--display", "none"), ("--json",)])
def test_without_a_display_a_simulated_run_states_that_it_shows_nothing(
    flags: tuple[str, ...],
) -> None:
    note = "on own tasks its scores and edits show nothing"
    ended = skillopt("train", "t.jsonl", *TINY, *flags, "--run-id", "a")
    assert ended.code == 0, ended.err
    (line,) = ended.err.splitlines()
    assert line.startswith("Note: ") and line.endswith(note)
    path = Path("outputs/folder/a/summary.json")
    assert any(note in one for one in json.loads(path.read_text(encoding="utf-8"))["notes"])
    other = skillopt("train", "searchqa", *TINY, *flags, "--run-id", "b")
    assert other.err == ""


def test_a_workbook_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("t.xlsx").write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    ended = refused(3, "train", "t.xlsx", *TINY)
    assert ended.error == "error: reading t.xlsx needs the package `openpyxl`"
    assert ended.hint == "hint: pip install 'skillopt-cli[sheets]'"


@pytest.mark.parametrize("n", [4, 9, 21])
def test_the_preset_tiny_runs_on_fewer_tasks_than_it_names(n: int) -> None:
    lines = Path("t.jsonl").read_text(encoding="utf-8").splitlines()[:n]
    Path("few.jsonl").write_text("\n".join(lines), encoding="utf-8")
    ended = skillopt("train", "few.jsonl", *TINY, "--run-id", "few")
    assert ended.code == 0, ended.err
    assert f"used: train {n // 2 + n % 2}, " in ended.err or f"used: train {n // 2}, " in ended.err


@pytest.mark.parametrize("given", [("t.jsonl",), ("--tasks", "t.jsonl"), ("./cut",), ("cut",)])
@pytest.mark.parametrize(
    "command",
    [
        ("data", "check"),
        ("plan", "--preset", "tiny"),
        ("eval", "--from-scratch", "--preset", "tiny"),
        ("eval", "--from-scratch", "--arms", "none", "--preset", "tiny"),
        ("aa", "--preset", "tiny", "--set", "evaluation.sel_env_num=4"),
    ],
    ids=lambda command: "-".join(command[:2]),
)
def test_every_command_takes_tasks_by_their_path(
    command: tuple[str, ...], given: tuple[str, ...]
) -> None:
    if command[0] == "aa":
        Path("s.md").write_text("# Skill\n\nAnswer.\n", encoding="utf-8")
        given = ("s.md", *given)
    ended = skillopt(*command, *given)
    assert ended.code == 0, ended.err
    assert "Inferred: prompt_key text (the only text)" in ended.err


def test_a_setting_wins_over_what_is_inferred() -> None:
    Path("c.yaml").write_text("env: {scorer: f1, seed_skill: Answer.}\n", encoding="utf-8")
    given = ("--config", "c.yaml", "--answer-key", "verdict", "--set", "env.split_ratio=1:1:2")
    shown = rows(skillopt("config", "show", "t.jsonl", *given, "--json"))
    assert shown["env.scorer"] == {"key": "env.scorer", "value": "f1", "source": "c.yaml"}
    assert shown["env.answer_key"]["source"] == "flag --answer-key"
    assert shown["env.split_ratio"]["value"] == "1:1:2"
    assert shown["env.prompt_key"]["source"] == "inferred: the only text"
    ended = skillopt("train", "t.jsonl", *TINY, "--skill-init", "c.yaml", "--run-id", "b")
    assert "seed_skill" not in ended.err and "seed_skill" not in env("b")


def test_ids_of_a_table_are_those_of_the_run_and_of_its_export() -> None:
    rows = [f"T-{n},Is item {n} in the box?,{LABELS[n % 2]}" for n in range(40)]
    Path("t.csv").write_text("\n".join(["Ticket_ID,text,verdict", *rows]), encoding="utf-8")
    ended = skillopt("train", "t.csv", *TINY, "--run-id", "ids")
    assert ended.err.count("id_key Ticket_ID (no two tasks have the same), scorer exact") == 1
    assert env("ids")["id_key"] == "Ticket_ID"
    resumed = skillopt("resume", "ids")
    assert resumed.code == 0, resumed.err
    exported = skillopt("runs", "export", "ids", "--format", "jsonl").lines
    ids = {row["id"] for row in exported}
    assert ids and ids <= {f"T-{n}" for n in range(40)}


def test_a_run_of_before_keeps_the_ids_that_were_made_of_the_content() -> None:
    rows = [f"T-{n},Is item {n} in the box?,{LABELS[n % 2]}" for n in range(40)]
    Path("t.csv").write_text("\n".join(["ticket_id,text,verdict", *rows]), encoding="utf-8")
    Path("c.yaml").write_text(
        "env: {name: folder, data_path: t.csv, prompt_key: text, answer_key: verdict}\n",
        encoding="utf-8",
    )
    ended = skillopt("train", "--config", "c.yaml", *TINY, "--run-id", "before")
    assert ended.code == 0, ended.err
    rows_of = skillopt("runs", "export", "before", "--format", "jsonl").lines
    assert rows_of and all(row["id"].startswith("task-") for row in rows_of)


@pytest.mark.parametrize(
    "command", [("train", *TINY), ("plan", "--preset", "tiny"), ("data", "check"), ("init",)]
)
def test_every_command_states_what_of_the_tasks_is_not_used(command: tuple[str, ...]) -> None:
    lines = [json.loads(line) for line in Path("t.jsonl").read_text(encoding="utf-8").splitlines()]
    Path("more.jsonl").write_text(
        "\n".join(json.dumps({**line, "subject": "Boxes"}) for line in lines), encoding="utf-8"
    )
    stated = "not used: subject (`--context-key subject` shows it with each task)"
    given = ("--answer-key", "verdict", "--prompt-key", "text")
    ended = skillopt(*command, "more.jsonl", *given)
    assert ended.code == 0, ended.err
    assert ended.err.count(f"; {stated}; `--scorer NAME` and the like set another") == 1


def test_what_is_not_used_is_stated_where_nothing_is_inferred_as_well() -> None:
    Path("c.jsonl").write_text(
        "\n".join(
            json.dumps({"question": f"Is {n} even?", "answer": LABELS[n % 2], "subject": "Numbers"})
            for n in range(12)
        ),
        encoding="utf-8",
    )
    options = ("--scorer", "exact", "--set", "env.split_ratio=2:1:1", "--set")
    ended = skillopt("data", "check", "c.jsonl", *options, "env.seed_skill=Answer.")
    assert ended.err.startswith("Not used: subject (`--context-key subject` shows it")
    shown = skillopt("data", "check", "c.jsonl", "--context-key", "subject", "--scorer", "exact")
    assert "ot used" not in shown.err


def test_nothing_is_inferred_where_the_benchmark_is_named() -> None:
    ended = refused(3, "data", "check", "folder", "--tasks", "t.jsonl")
    assert "`prompt` or `question` is missing" in ended.error
    Path("c.yaml").write_text("env: {name: folder, data_path: t.jsonl}\n", encoding="utf-8")
    assert "is missing" in refused(3, "plan", "--config", "c.yaml").error


def test_a_path_that_is_none_is_told_as_one() -> None:
    assert "none.csv does not exist" in refused(2, "train", "none.csv").error
    assert "/cuts does not exist" in refused(2, "train", "./cuts").error
    assert "no benchmark `cuts`" in refused(2, "train", "cuts").error
    ended = refused(3, "train", "t.jsonl", "--answer-key", "text")
    assert "no field can be the task text among `id`, `text`, `verdict`" in ended.error


def test_the_statement_is_left_out_where_nothing_is_displayed() -> None:
    ended = skillopt("train", "t.jsonl", *TINY, "--display", "none")
    assert ended.code == 0
    assert "Inferred" not in ended.err


def test_python_takes_a_path_too() -> None:
    result = skillopt_cli.train("t.jsonl", preset="tiny", answer_key="verdict", run_id="p")
    assert result.finished
    assert env("p")["answer_key"] == "verdict"
    with pytest.raises(UsageError, match="no argument `answer_kee`"):
        skillopt_cli.train("t.jsonl", answer_kee="verdict")


@pytest.mark.parametrize("value", ["Boxes", ["x.txt"], {"a": 1}, 7, True])
@pytest.mark.parametrize("command", [("train", *TINY), ("plan",), ("data", "check")])
def test_a_named_benchmark_states_too_what_of_the_tasks_is_not_used(
    command: tuple[str, ...], value: object
) -> None:
    lines = [json.loads(line) for line in Path("t.jsonl").read_text(encoding="utf-8").splitlines()]
    Path("more.jsonl").write_text(
        "\n".join(json.dumps({**line, "context": "A box.", "extra": value}) for line in lines),
        encoding="utf-8",
    )
    named = "env: {name: folder, data_path: more.jsonl, prompt_key: text, answer_key: verdict}\n"
    Path("c.yaml").write_text(named, encoding="utf-8")
    ended = skillopt(*command, "--config", "c.yaml")
    assert ended.code == 0, ended.err
    assert ended.err.splitlines().count("Not used: extra") == 1


def test_an_evaluation_of_a_file_states_what_it_measures_and_may_measure_all_of_it() -> None:
    assert skillopt("train", "t.jsonl", *TINY, "--run-id", "a").code == 0
    lines = Path("t.jsonl").read_text(encoding="utf-8").splitlines()
    new = [line.replace("in the box", "in the bag").replace('"q', '"n') for line in lines]
    Path("new.jsonl").write_text("\n".join(new[:7]), encoding="utf-8")
    Path("mine.md").write_text("Say yes.\n", encoding="utf-8")
    given = ("new.jsonl", "--skill", "mine.md", "--set", "model.backend=simulated")
    of_run = ("--skill", "a:best", "--tasks", "new.jsonl")
    cut = "Note: measures only the test split, 2 of 7 tasks, as the file is cut 2:1:1"
    whole = "Note: measures all 7 tasks: train, selection and test together\n"
    for n, measured in enumerate((given, of_run, (*of_run, "--arms", "seed,best"))):
        one = skillopt("eval", *measured, "--display", "none")
        assert cut in one.err and "; `--split all` measures every task\n" in one.err
        ended = skillopt("eval", *measured, "--split", "all", "--json", "--run-id", f"all{n}")
        assert ended.code == 0, ended.err
        assert whole in ended.err and "measures only" not in ended.err
        assert ended.json["split"] == "all"
        found = ended.json["arms"][0] if n == 2 else ended.json
        assert found["n_items"] == 7
        assert ended.json["data"] == "new.jsonl (7 tasks)"
        exported = skillopt("runs", "export", f"all{n}").out.splitlines()
        assert len(exported) == 8 and exported[1].startswith('"n0","all",')
        assert skillopt("runs", "export", f"all{n}", "--split", "all").out.splitlines() == exported
        folder = "all/seed" if n == 2 else "all"
        assert Path("outputs/folder", f"all{n}", folder, "results.jsonl").is_file()


def test_fewer_tasks_than_splits_are_measured_and_no_training_is_possible() -> None:
    text = Path("t.jsonl").read_text(encoding="utf-8")
    Path("two.jsonl").write_text("\n".join(text.splitlines()[:2]), encoding="utf-8")
    Path("mine.md").write_text("Say yes.\n", encoding="utf-8")
    given = ("two.jsonl", "--set", "model.backend=simulated")
    for more in ((), ("--arms", "none,mine.md")):
        ended = skillopt("eval", *given, "--skill", "mine.md", "--split", "all", *more)
        assert ended.code == 0, ended.err
        assert "n=2" in ended.out
        (inferred,) = [line for line in ended.err.splitlines() if line.startswith("Inferred: ")]
        assert "scorer f1" in inferred and "split_ratio" not in inferred
    for command in (("train",), ("plan",), ("eval", "--skill", "mine.md")):
        ended = refused(3, *command, *given)
        assert "the test split of benchmark `folder` is empty: two.jsonl cut 2:1:1" in ended.error
        assert "`skillopt eval --split all`" in ended.hint


def test_tasks_with_one_answer_are_refused_for_a_training_and_may_be_measured() -> None:
    lines = Path("t.jsonl").read_text(encoding="utf-8").replace('"no"', '"yes"')
    Path("one.jsonl").write_text(lines, encoding="utf-8")
    Path("mine.md").write_text("Say yes.\n", encoding="utf-8")
    simulated = ("one.jsonl", "--set", "model.backend=simulated")
    checked = skillopt("data", "check", "one.jsonl")
    for command in ("train", "plan", "init"):
        ended = refused(3, command, *(simulated if command != "init" else ("one.jsonl",)))
        assert ended.error == 'error: always answering "yes" scores 1.00'
        assert f"{ended.error}\n  {ended.hint}\n" in checked.out
    checks = skillopt("doctor", *simulated, "--json").json["checks"]
    (failing,) = [row for row in checks if row["state"] == "failing"]
    assert (failing["name"], failing["what"]) == ("data", 'always answering "yes" scores 1.00')
    assert not Path("outputs").exists() and not Path("one-skill").exists()
    for split in ("test", "all"):
        ended = skillopt("eval", *simulated, "--skill", "mine.md", "--split", split)
        assert ended.code == 0, ended.err


def test_nearly_the_same_tasks_in_two_splits_are_one_warning_of_each_run() -> None:
    asked = ("Where is the red lamp kept, then?", "Where is the red lamp kept then")
    for split, part in (("train", asked[:1]), ("selection", ()), ("test", asked[1:])):
        rows = [{"question": one, "answer": "yes"} for one in part]
        rows += [{"question": f"{split} {n}?", "answer": "no"} for n in range(4)]
        folder = Path("near", split)
        folder.mkdir(parents=True)
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / "t.jsonl").write_text(text, encoding="utf-8")
    words = "1 pair of nearly the same task in two splits"
    assert words in skillopt("data", "check", "near").out
    assert words in skillopt("plan", "near", *TINY).out
    ended = skillopt("train", "near", *TINY, "--run-id", "a", "--display", "plain")
    assert ended.code == 0, ended.err
    assert sum(words in line for line in ended.err.splitlines()) == 1
    warned = [e["reason"] for e in events(Path("outputs/folder/a"), "degraded")]
    assert sum(words in reason and reason.endswith("says more") for reason in warned) == 1


def test_the_file_of_the_run_keeps_its_cut_in_an_evaluation() -> None:
    assert skillopt("train", "t.jsonl", *TINY, "--run-id", "a").code == 0
    own = skillopt("eval", "--skill", "a:best")
    named = skillopt("eval", "t.jsonl", "--skill", "a:best", "--set", "model.backend=simulated")
    folder = skillopt("eval", "cut", "--skill", "a:best", "--set", "model.backend=simulated")
    for ended in (own, named, folder):
        assert ended.code == 0, ended.err
        assert "measures only" not in ended.err
    seen = skillopt("eval", "--skill", "a:best", "--split", "all")
    assert "also those that the skill was trained on" in seen.err
    assert "all: hard " in seen.out and "(n=40, scored 40)" in seen.out


def test_test_tasks_of_another_cut_that_the_training_used_are_warned_of() -> None:
    assert skillopt("train", "t.jsonl", *TINY, "--run-id", "a").code == 0
    same = skillopt("eval", "--skill", "a:best", "--json")
    other = skillopt("eval", "--skill", "a:best", "--set", "env.split_seed=7", "--json")
    assert "warning" not in same.json
    n = other.json["n_items"]
    used = re.search(rf"a training used (\d+) of these {n} tasks", other.json["warning"])
    assert used is not None and 0 < int(used[1]) <= n
    assert other.json["warning"].endswith("measure with tasks that it did not use")


def test_limits_of_a_split_do_not_cut_all_tasks() -> None:
    ended = skillopt("eval", "searchqa", *SMALLEST, "--from-scratch", "--split", "all", "--json")
    assert ended.code == 0, ended.err
    tasks = load_benchmark("searchqa").open(BenchmarkRequest(data_root=Path("data")))
    assert ended.json["n_items"] == sum(len(tasks.tasks(split)) for split in SPLITS)


@pytest.mark.parametrize(
    ("found", "stated"),
    [
        (("split_ratio",), "`env.split_ratio=2:1:1` sets another"),
        (("prompt_key", "split_ratio"), "`env.prompt_key=NAME` and the like set another"),
        (("prompt_key", "scorer"), "`env.scorer=NAME` and the like set another"),
        (("seed_skill",), "`env.skill_init=FILE` sets another"),
    ],
)
def test_the_line_on_what_was_inferred_names_a_setting_of_it(
    found: tuple[str, ...], stated: str
) -> None:
    sources = {f"env.{name}": "inferred: why" for name in found}
    line = inferred_line(RunConfig(), sources, "")
    assert line.endswith(f"; {stated}")
    assert all(f"{name} " in line for name in found)
