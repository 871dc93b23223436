"""A file of the user in the form of a new run: planned and run as by its path in a shell."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import TINY as PRESET
from command_line import refused, rows, skillopt
from dom import parsed, text_of
from start_form import TINY, fields, mark_of, mistakes, send
from web_rig import Tab, client, served

from skillopt_cli.compose.settings import settle
from skillopt_cli.core.task import SPLITS
from skillopt_cli.web import start_run
from skillopt_cli.web.form import OWN_FIELDS, OWN_FILE, Given

KEYS = ("--answer-key", "queue")
OWN = {"benchmark": OWN_FILE, "preset": "tiny", "set:env.data_path": "t.csv"}
WITH_KEY = {**OWN, "set:env.answer_key": "queue"}
ROOT = Path("outputs")


@pytest.fixture(autouse=True)
def tasks() -> None:
    """`t.csv`, whose answers may be in two columns, and the same in splits below `cut`."""
    queues = ("billing", "login", "returns")
    lines = [
        f"t{n},case {n},Why did case {n} of this month go wrong?,{queues[n % 3]}\n"
        for n in range(24)
    ]
    head = "id,subject,body,queue\n"
    Path("t.csv").write_text(head + "".join(lines), encoding="utf-8")
    for n, split in enumerate(SPLITS):
        folder = Path("cut", split)
        folder.mkdir(parents=True)
        part = lines[n * 8 : n * 8 + 8]
        folder.joinpath("t.csv").write_text(head + "".join(part), encoding="utf-8")


def plan_of(text: str) -> tuple[list[str], list[str], list[str]]:
    """The rows of the plan and its notes, with single spaces, and the words of its command."""
    (section,) = (e for e in parsed(text).iter("section") if e.get("id") == "plan")
    cells = [[text_of(cell) for cell in row] for row in section.findall(".//tbody/tr")]
    (command,) = (text_of(e) for e in section.iter("pre"))
    notes = [text_of(e) for e in section.iter("li")]
    return [" ".join(filter(None, row)) for row in cells], notes, command.split()


def classes_of(text: str) -> dict[str, list[str]]:
    """The classes of the fields beside the benchmark, by the key of their setting."""
    boxes = [e for e in parsed(text).iter("div") if "field" in e.get("class", "").split()]
    inside = {key: f".//*[@name='set:{key}']" for key in OWN_FIELDS}
    return {
        key: box.get("class", "").split()
        for box in boxes
        for key, path in inside.items()
        if box.find(path) is not None
    }


@pytest.mark.parametrize(
    ("values", "argv"),
    [
        (WITH_KEY, ("t.csv", *KEYS)),
        ({name: text for name, text in WITH_KEY.items() if name != "benchmark"}, ("t.csv", *KEYS)),
        (
            {**WITH_KEY, "set:env.scorer": "f1", "set:env.prompt_key": "subject"},
            ("t.csv", *KEYS, "--scorer", "f1", "--prompt-key", "subject"),
        ),
        ({**WITH_KEY, "set:env.data_path": "cut"}, ("cut", *KEYS)),
        ({**WITH_KEY, "set:env.data_path": "", "set:env.split_dir": "cut"}, ("cut", *KEYS)),
        (
            {**WITH_KEY, "set:env.split_ratio": "1:1:1", "set:env.from_scratch": "true"},
            ("t.csv", *KEYS, "--set", "env.split_ratio=1:1:1", "--from-scratch"),
        ),
    ],
)
def test_the_plan_is_that_of_the_shell(values: dict[str, str], argv: tuple[str, ...]) -> None:
    with client(ROOT) as asking:
        answer = send(asking, "plan", **values)
    assert answer.status_code == 200, mistakes(answer.text)
    planned, notes, command = plan_of(answer.text)
    shell = skillopt("plan", *argv, *PRESET)
    lines = [" ".join(line.split()) for line in shell.out.splitlines()]
    assert planned and [row for row in planned if row not in lines] == []
    assert notes[0].startswith("Inferred: ")
    assert notes[0].partition(";")[0] in shell.err
    assert notes[1:] and [note for note in notes[1:] if note not in lines] == []
    assert command[:2] == ["skillopt", "train"]
    assert Path(command[2]) == Path(argv[0])
    settled = settle(Given.of(values).overrides(ROOT), {})
    shown = rows(skillopt("config", "show", *argv, *PRESET, "--display", "plain", "--json"))
    assert {row["key"]: row["value"] for row in settled.rows()} == {
        key: row["value"] for key, row in shown.items()
    }
    assert fields(answer.text)["benchmark"] == OWN_FILE


def test_the_run_is_that_of_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[list[str]] = []
    monkeypatch.setattr(start_run, "launch", lambda argv, folder: launched.append([*argv]))
    with client(ROOT) as asking:
        given = {**WITH_KEY, "run_id": "page"}
        mark = mark_of(send(asking, "plan", **given))
        changed = {**given, "set:env.data_path": "cut"}
        assert "has changed" in send(asking, "start", planned=mark, **changed).text
        answer = send(asking, "start", planned=mark, **given)
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs/folder/page")
    (argv,) = launched
    assert argv[:4] == ["train", "t.csv", "--preset=tiny", "--answer-key=queue"]
    assert skillopt(*argv).code == 0
    assert skillopt("train", "t.csv", *KEYS, *PRESET, "--run-id", "shell").code == 0
    page, shell = (config_of(run) for run in ("page", "shell"))
    assert page["run"].pop("display") == "plain"
    shell["run"].pop("display", None)
    assert page.pop("_run_folder_") != shell.pop("_run_folder_")
    assert page == shell
    assert page["env"]["split_ratio"] == "2:1:1 by label"


def config_of(run: str) -> Any:
    path = ROOT / "folder" / run / "config.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("values", "field", "message"),
    [
        (OWN, "set-env-answer_key", "unclear which column is the answer: queue, subject"),
        (
            {**OWN, "set:env.answer_key": "quee"},
            "set-env-answer_key",
            'did you mean "Answer column" queue?',
        ),
        ({**OWN, "set:env.data_path": ""}, "set-env-data_path", "no task file is named"),
        ({**OWN, "set:env.data_path": "none.csv"}, "set-env-data_path", "does not exist"),
        ({**OWN, "set:env.data_path": "none"}, "set-env-data_path", "does not exist"),
        ({**OWN, "set:env.data_path": "gap.csv"}, "set-env-data_path", "gap.csv, line 3"),
        ({**WITH_KEY, "set:env.scorer": "f2"}, "set-env-scorer", "must be exact, f1"),
        ({**WITH_KEY, "set:env.limit": "-1"}, "set-env-limit", "must be at least 0"),
    ],
)
def test_a_mistake_is_shown_beside_its_field(
    values: dict[str, str], field: str, message: str
) -> None:
    Path("gap.csv").write_text("question,answer\nWhat is it?,a\nWho?,\n", encoding="utf-8")
    with client(ROOT) as asking:
        answer = send(asking, "plan", **values)
    assert answer.status_code == 422
    found = mistakes(answer.text)
    assert set(found) == {"", field}
    assert message in found[field]
    assert not re.search(r"--[a-z]|flag|argument", found[field])
    assert "own-file" not in classes_of(answer.text)["env.answer_key"]
    assert not ROOT.exists()


@pytest.mark.parametrize("name", ["gap.csv", "./gap.csv", "deep/gap.csv", "/gap.csv"])
def test_a_fault_of_another_benchmarks_file_is_shown_beside_its_field(name: str) -> None:
    path = Path(str(Path.cwd()) + name if name.startswith("/") else name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("question,answers\nWhat is it?,a\n", encoding="utf-8")
    given = {**TINY, "set:env.data_path": str(path)}
    with client(ROOT) as asking:
        answer = send(asking, "plan", **given, **{"set:env.split_ratio": "2:1:1"})
    found = mistakes(answer.text)
    assert set(found) == {"", "set-env-data_path"}
    assert "gap.csv, line 2" in found["set-env-data_path"]


def test_tasks_with_one_answer_are_refused_as_by_the_shell() -> None:
    text = Path("t.csv").read_text(encoding="utf-8")
    Path("t.csv").write_text(re.sub(",(login|returns)\n", ",billing\n", text), encoding="utf-8")
    with client(ROOT) as asking:
        answer = send(asking, "plan", **WITH_KEY)
    assert answer.status_code == 422
    shell = refused(3, "plan", "t.csv", *KEYS, *PRESET)
    for line in (shell.error, shell.hint):
        assert line.partition(": ")[2] in mistakes(answer.text)[""]


def test_a_wrong_column_has_one_hint_and_hides_no_other_mistake() -> None:
    wrong = {"set:env.answer_key": "quee", "set:run.trackers": "mlfow", "set:train.seed": "x"}
    for values in ({**OWN, **wrong}, {**WITH_KEY, **wrong, "set:env.data_path": "cut"}):
        with client(ROOT) as asking:
            found = mistakes(send(asking, "plan", **values).text)
        assert set(found) == {"", *(name.replace(":", "-").replace(".", "-") for name in wrong)}
        column = found["set-env-answer_key"]
        assert 'did you mean "Answer column" queue?' in column and "unclear" not in column
        assert "did you mean mlflow?" in found["set-run-trackers"]
    with client(ROOT) as asking:
        found = mistakes(send(asking, "plan", **{**OWN, "set:run.trackers": "mlfow"}).text)
    assert set(found) == {"", "set-env-answer_key", "set-run-trackers"}


def test_a_file_and_splits_at_once_are_refused_in_words_of_the_form() -> None:
    with client(ROOT) as asking:
        answer = send(asking, "plan", **{**WITH_KEY, "set:env.split_dir": "cut"})
    found = mistakes(answer.text)
    assert "are both set" in "".join(found.values())
    assert "argument" not in "".join(found.values())


@pytest.mark.parametrize("name", ["searchqa", "-t.csv", "plain", "a b.csv", "./t.csv"])
def test_a_path_is_read_as_no_name_and_no_flag(name: str) -> None:
    path = Path(name)
    if not path.suffix:
        shutil.copytree("cut", path)
    elif not path.exists():
        shutil.copy("t.csv", path)
    values = {**WITH_KEY, "set:env.data_path": name}
    with client(ROOT) as asking:
        assert send(asking, "plan", **values).status_code == 200
    command = Given.of(values).command(ROOT)
    shown = rows(skillopt("config", "show", *command[1:], "--json"))
    key = "env.data_path" if path.suffix else "env.split_dir"
    assert (shown["env.name"]["value"], shown[key]["value"]) == ("folder", str(path))


def test_the_fields_of_a_file_appear_with_it_or_with_what_they_hold() -> None:
    columns = OWN_FIELDS[1:]
    with client(ROOT) as asking:
        plain = classes_of(asking.get("/new").text)
        other = classes_of(send(asking, "look", **TINY).text)
        for shown in (plain, other):
            assert all("own-file" in shown[key] for key in columns)
            assert "own-file" not in shown["env.data_path"]
        for benchmark in (OWN_FILE, "folder"):
            chosen = classes_of(send(asking, "look", benchmark=benchmark).text)
            assert all("own-file" not in chosen[key] for key in OWN_FIELDS)
        held = send(asking, "plan", **TINY, **{"set:env.answer_key": "queue"})
    assert "own-file" not in classes_of(held.text)["env.answer_key"]
    assert "of benchmark searchqa" in mistakes(held.text)["set-env-answer_key"]


def test_empty_fields_state_what_is_inferred() -> None:
    with client(ROOT) as asking:
        own = parsed(send(asking, "look", **OWN).text)
        literal = parsed(send(asking, "look", benchmark="folder").text)
    for key in ("answer_key", "prompt_key", "scorer", "split_ratio", "seed_skill"):
        place = f".//*[@id='set-env-{key}-help']"
        help, as_named = own.find(place), literal.find(place)
        assert help is not None and text_of(help).endswith(": inferred from the file.")
        assert as_named is not None and "inferred" not in text_of(as_named)
    options = [o for o in own.iter("option") if o.get("value") in ("", OWN_FILE)][:2]
    assert [text_of(option) for option in options] == ["choose one", "A file of your own"]


def test_what_a_variable_sets_is_not_shown_as_inferred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLOPT_ENV__SPLIT_RATIO", "1:1:2")
    with client(ROOT) as asking:
        page = parsed(send(asking, "look", **OWN).text)
    help = page.find(".//*[@id='set-env-split_ratio-help']")
    assert help is not None
    assert text_of(help).endswith(': "1:1:2" (environment SKILLOPT_ENV__SPLIT_RATIO).')


def test_nothing_is_inferred_where_folder_is_chosen() -> None:
    with client(ROOT) as asking:
        answer = send(asking, "plan", **{**WITH_KEY, "benchmark": "folder"})
    found = "".join(mistakes(answer.text).values())
    assert "prompt or question is missing" in found
    ended = refused(3, "plan", "folder", "--tasks", "t.csv", *KEYS, *PRESET)
    assert "`prompt` or `question` is missing" in ended.error


def test_a_path_in_the_place_of_a_benchmark_is_none() -> None:
    with client(ROOT) as asking:
        answer = send(asking, "plan", **{**WITH_KEY, "benchmark": "t.csv"})
    assert "there is no benchmark t.csv" in "".join(mistakes(answer.text).values())


@pytest.mark.slow
@pytest.mark.parametrize("script", [True, False])
def test_a_file_is_trained_on_by_keyboard(
    tab: Callable[..., Tab], tmp_path: Path, script: bool
) -> None:
    with served(tmp_path / ROOT) as address:
        opened = tab(address, java_script_enabled=script)
        page = opened.page
        opened.open("/new?preset=tiny")
        assert not page.get_by_label("Answer column").is_visible()
        page.get_by_label("Benchmark").focus()
        page.keyboard.press("ArrowDown")
        page.get_by_label("Answer column").wait_for()
        page.keyboard.press("Tab")
        page.keyboard.type("t.csv")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        wrong = page.get_by_label("Answer column")
        assert wrong.get_attribute("aria-invalid") == "true"
        assert "unclear which column" in page.locator("#set-env-answer_key-error").inner_text()
        assert all("422" in fault for fault in opened.faults)
        opened.faults.clear()
        if script:
            assert page.evaluate("document.activeElement.id") == "set-env-answer_key"
        wrong.fill("queue")
        page.get_by_label("Run id").fill("mine")
        page.get_by_role("button", name="Show the plan").last.click()
        plan = page.get_by_role("region", name="Plan")
        plan.get_by_text("skillopt train t.csv").wait_for()
        assert "answers are 3 labels" in plan.get_by_role("listitem").first.inner_text()
        page.get_by_role("button", name="Start this run").click()
        page.wait_for_url("**/runs/folder/mine")
        while "finished" not in page.locator("#part-status").inner_text():
            page.reload()
