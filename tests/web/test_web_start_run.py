"""Starting a run from the form: in a browser, and as requests that a browser would send."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import skillopt
from dom import parsed, text_of
from start_form import TINY, fields, mark_of, mistakes, send
from web_rig import TOKEN, Tab, client, served

from skillopt_cli.config.declarations import known_keys
from skillopt_cli.core.errors import SkillOptError
from skillopt_cli.plugins import load_benchmark
from skillopt_cli.runlog.text.format import duration
from skillopt_cli.web import launcher as launching
from skillopt_cli.web import start_run
from skillopt_cli.web.form import OWN_FIELDS, OWN_FILE, Given, in_fields, in_labels, title_of
from skillopt_cli.web.form_check import MOST_MISTAKES
from skillopt_cli.web.security import Access
from skillopt_cli.web.token import VARIABLE

RUN_ID = "from-a-form"

BACKEND = "set-model-backend"


@pytest.mark.slow
def test_a_run_is_started_from_the_form_and_watched(
    tab: Callable[..., Tab], tmp_path: Path
) -> None:
    with served(tmp_path / "outputs") as address:
        opened = tab(address)
        page = opened.page
        opened.open("/")
        page.get_by_role("link", name="Start a run").click()
        page.get_by_label("Benchmark").select_option("searchqa")
        page.get_by_label("Preset").select_option("tiny")
        page.get_by_label("Run id").fill(RUN_ID)
        page.get_by_label("train.seed").fill("7")
        page.get_by_text("model.simulated", exact=False).first.click()
        page.get_by_label("model.simulated.latency_ms").fill("30")
        page.get_by_role("button", name="Show the plan").last.click()
        plan = page.get_by_role("region", name="Plan")
        plan.get_by_text("skillopt train searchqa").wait_for()
        assert plan.get_by_role("row", name="all calls").is_visible()
        estimate = plan.locator("#estimate").inner_text()
        assert "all calls " in estimate and "time " in estimate
        calls = plan.get_by_role("row", name="all calls").get_by_role("cell").first.inner_text()
        assert f"all calls {calls}," in estimate
        assert not (tmp_path / "outputs" / "searchqa").exists()
        page.get_by_role("button", name="Start this run").click()
        page.wait_for_url(f"**/runs/searchqa/{RUN_ID}")
        page.locator("#part-status", has_text="4 of 4 steps recorded").wait_for()
        page.locator("#part-status", has_text="finished").wait_for()
        assert page.get_by_role("link", name="Step 4").is_visible()
    folder = tmp_path / "outputs" / "searchqa" / RUN_ID
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary["status"] == "finished"
    assert "best skill:" in (folder / launching.LOG).read_text(encoding="utf-8")
    assert "seed: 7" in (folder / "config.yaml").read_text(encoding="utf-8")
    assert list((tmp_path / "outputs").glob(".*")) == []


@pytest.mark.slow
def test_the_form_works_without_script(tab: Callable[..., Tab], tmp_path: Path) -> None:
    with served(tmp_path / "outputs") as address:
        opened = tab(address, java_script_enabled=False)
        page = opened.page
        opened.open("/new?benchmark=searchqa&preset=tiny")
        page.get_by_label("train.num_epochs").fill("none at all")
        page.get_by_label("Run id").fill("plain")
        page.keyboard.press("Enter")
        field = page.get_by_label("train.num_epochs")
        said = "must be a whole number, not none at all"
        assert said in page.locator(f"#{field.get_attribute('id')}-error").inner_text()
        assert field.get_attribute("aria-invalid") == "true"
        assert field.input_value() == "none at all"
        assert page.get_by_label("Run id").input_value() == "plain"
        # The browser notes the answer's status, and nothing else.
        assert all("422" in fault for fault in opened.faults)
        opened.faults.clear()
        field.fill("1")
        page.get_by_role("button", name="Show the plan").last.click()
        page.get_by_role("button", name="Start this run").click()
        page.wait_for_url("**/runs/searchqa/plain")
        assert page.get_by_role("heading", level=1).inner_text() == "plain"
        while "finished" not in page.locator("#part-status").inner_text():
            page.reload()


def test_every_setting_has_one_field(tmp_path: Path) -> None:
    with client(tmp_path) as asking:
        page = parsed(asking.get("/new").text)
    tags = [e for kind in ("input", "select") for e in page.iter(kind)]
    names = [e.get("name", "") for e in tags]
    settings = [name.removeprefix("set:") for name in names if name.startswith("set:")]
    decided = {"env.name", "env.out_root", "run.display", "run.verbose"}
    assert sorted(settings) == sorted({*known_keys(), *OWN_FIELDS} - decided)
    labelled = {e.get("for") for e in page.iter("label")}
    for tag in tags:
        if tag.get("type") != "hidden":
            assert tag.get("id") in labelled
            described = tag.get("aria-describedby", "").split()
            assert all(page.find(f".//*[@id='{place}']") is not None for place in described)


def test_a_benchmark_brings_its_own_settings_and_values(tmp_path: Path) -> None:
    with client(tmp_path) as asking:
        plain = asking.get("/new").text
        chosen = send(asking, "look", benchmark="docvqa", preset="tiny").text
    kept, own = (set(re.findall(r'name="set:env\.(\w+)"', text)) for text in (plain, chosen))
    assert own - kept == load_benchmark("docvqa").option_names != frozenset()
    assert "(preset tiny)" in chosen and "(preset tiny)" not in plain


@pytest.mark.parametrize("latency", ["10", "2000"])
def test_the_estimate_knows_what_the_plan_of_the_shell_knows(tmp_path: Path, latency: str) -> None:
    given = {"benchmark": "searchqa", "preset": "tiny", "set:model.simulated.latency_ms": latency}
    with client(tmp_path) as asking:
        page = parsed(send(asking, "plan", **given).text)
    estimate = page.find(".//*[@id='estimate']")
    assert estimate is not None
    setting = f"model.simulated.latency_ms={latency}"
    shell = skillopt("plan", "searchqa", "--preset", "tiny", "--set", setting, "--json").json
    took, seconds = duration(shell["seconds"]["point"]), shell["assumed"]["latency"]
    ends = " to ".join(duration(shell["seconds"][end]) for end in ("low", "high"))
    said = rf"time {took} \({ends}\) with \d+ workers? if a call"
    assert re.search(said, text_of(estimate))
    assert f"takes {seconds:.3g} s" in text_of(estimate)


@pytest.mark.parametrize(
    ("values", "field", "said"),
    [
        ({"set:train.batch_size": "0"}, "set-train-batch_size", "must be at least 1, not 0"),
        ({"set:optimizer.lr_scheduler": "cosin"}, "set-optimizer-lr_scheduler", "did you mean"),
        ({"run_id": "a b"}, "run_id", "is not a plain name"),
        ({"benchmark": ""}, "benchmark", "no benchmark is named"),
        ({"set:env.lim": "3"}, "set-env-lim", 'did you mean "Limit"?'),
        (
            {"set:optimizer.min_learning_rate": "9"},
            "set-optimizer-min_learning_rate",
            'is above "Learning rate"',
        ),
    ],
)
def test_a_mistake_is_told_beside_its_field_and_nothing_is_lost(
    tmp_path: Path, values: dict[str, str], field: str, said: str
) -> None:
    given = {**TINY, "run_id": "mine", "set:train.seed": "11", **values}
    with client(tmp_path) as asking:
        answer = send(asking, "plan", **given)
    assert answer.status_code == 422
    page = parsed(answer.text)
    told = page.find(f".//*[@id='{field}-error']")
    assert told is not None
    assert said in text_of(told)
    wrong = page.find(f".//*[@id='{field}']")
    assert wrong is not None and wrong.get("aria-invalid") == "true"
    assert f"{field}-error" in wrong.get("aria-describedby", "")
    held = fields(answer.text)
    assert {k: held.get(k, "") for k in given} == given
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_all_mistakes_are_told_at_once(tab: Callable[..., Tab], tmp_path: Path) -> None:
    with served(tmp_path / "outputs") as address:
        opened = tab(address)
        page = opened.page
        opened.open("/new?benchmark=searchqa&preset=tiny")
        page.get_by_label("Run id").fill("a b")
        for group in ("optimizer", "train"):
            page.locator(f"#group-{group} > summary").click()
        for key, text in (
            ("train.batch_size", "0"),
            ("optimizer.min_learning_rate", "9"),
            ("train.train_size", "many"),
            ("env.skill_init", "nowhere.md"),
            ("env.split_dir", "nowhere"),
        ):
            page.locator(f"#set-{key.replace('.', '-')}").fill(text)
        # Without the wait, the text is that of a page of which only a part has arrived.
        with page.expect_navigation():
            page.get_by_role("button", name="Show the plan").last.click()
        told = mistakes(page.content())
        assert "must be at least 1, not 0" in told["set-train-batch_size"]
        assert "must be a whole number" in told["set-train-train_size"]
        assert "not a plain name" in told["run_id"]
        assert "nowhere.md does not exist" in told["set-env-skill_init"]
        assert "nowhere does not exist" in told["set-env-split_dir"]
        assert "is above" in told["set-optimizer-min_learning_rate"]
        links = page.get_by_role("alert").get_by_role("link")
        assert [link.get_attribute("href") for link in links.all()] == [
            f"#{place}" for place in told if place
        ]
        assert page.evaluate("document.activeElement.id") == "run_id"
        assert page.get_by_label("train.train_size").is_visible()
        opened.faults.clear()


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            {"benchmark": "", "run_id": "-", "set:train.seed": "x"},
            "benchmark run_id set-train-seed",
        ),
        ({"set:env.lim": "3", "set:env.limt": "x"}, "set-env-lim set-env-limt"),
        # What is missing only because a wrong value counts for nothing is no mistake of its own.
        ({"preset": "", "set:model.api": "rest"}, "set-model-api"),
        # What has nothing to do with it is one.
        ({"preset": "", "set:train.seed": "x"}, "set-train-seed "),
    ],
)
def test_what_follows_from_a_mistake_is_not_told(
    tmp_path: Path, values: dict[str, str], told: str
) -> None:
    with client(tmp_path) as asking:
        answer = send(asking, "plan", **{**TINY, **values})
    assert answer.status_code == 422
    found = mistakes(answer.text)
    unreached = {BACKEND} if told.endswith(" ") else set()
    assert set(found) == {"", *told.split(), *unreached}
    assert ("no model endpoint" in found.get(BACKEND, "")) == told.endswith(" ")


SCRIPT = '["python3", "no_such_agent.py"]'
UNREACHED = {"set:model.target.backend": "command", "set:model.command.argv": SCRIPT}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        # Mistakes that keep the run from being planned, each of another kind.
        ({"preset": ""}, BACKEND),
        ({"benchmark": ""}, "benchmark"),
        ({"benchmark": "", "set:env.data_path": "nowhere.csv"}, "set-env-data_path"),
        ({"set:train.seed": "x"}, "set-train-seed"),
        ({"run_id": "a b"}, "run_id"),
    ],
)
def test_files_that_are_not_there_are_told_beside_every_other_mistake(
    tmp_path: Path, values: dict[str, str], told: str
) -> None:
    given = {**TINY, **UNREACHED, "set:env.skill_init": "no_such_skill", **values}
    with client(tmp_path) as asking:
        found = mistakes(send(asking, "plan", **given).text)
    assert set(found) == {"", told, "set-env-skill_init", "set-model-command-argv"}
    assert "no_such_skill does not exist" in found["set-env-skill_init"]
    assert "script no_such_agent.py" in found["set-model-command-argv"]
    assert ("no model endpoint" in found.get(BACKEND, "")) == (values == {"preset": ""})


@pytest.mark.parametrize("folder", ["empty", "skills/empty"])
@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, []),
        ({"benchmark": "nope"}, ["there is no benchmark nope"]),
        ({"preset": ""}, [BACKEND]),
        ({"set:model.backend": "nope"}, ["there is no backend nope"]),
        (
            {"set:env.split_dir": "gone", "set:train.seed": "x"},
            ["set-env-split_dir", "set-train-seed"],
        ),
    ],
)
def test_a_folder_without_a_skill_is_told_at_its_field_with_all_other_mistakes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
    values: dict[str, str],
    told: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(folder).mkdir(parents=True)
    given = {**TINY, "set:env.skill_init": folder, **values}
    with client(tmp_path / "outputs") as asking:
        found = mistakes(send(asking, "plan", **given).text)
    assert "is a folder without a SKILL.md" in found["set-env-skill_init"]
    assert "SKILL.md" not in found[""]
    for one in told:
        assert one in found or one in found[""]


@pytest.mark.parametrize("values", [{}, {"set:train.num_epochs": "two"}])
def test_a_script_that_is_not_there_is_a_warning_at_its_field_whatever_else_is_wrong(
    tmp_path: Path, values: dict[str, str]
) -> None:
    """An attempt's folder may hold it, so that it keeps nobody from starting."""
    with client(tmp_path) as asking:
        answer = send(asking, "plan", **TINY, **UNREACHED, **values)
    assert answer.status_code == (422 if values else 200)
    page = parsed(answer.text)
    beside = page.find(".//*[@id='set-model-command-argv-error']")
    assert beside is not None and "script no_such_agent.py" in text_of(beside)
    assert [part.get("class") for part in beside] == ["warn"]
    box = page.find(".//*[@id='set-model-command-argv']")
    assert box is not None and box.get("aria-invalid") is None
    assert ('value="start"' in answer.text) is (not values)


def test_files_and_tasks_that_are_not_clear_are_told_with_what_follows_from_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answers = [*(f"{n}.5" for n in range(20)), *(f"2026-01-{n}" for n in range(13, 17))]
    lines = [{"question": f"What is it {n}?", "answer": a} for n, a in enumerate(answers)]
    Path("t.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    given = {
        **UNREACHED,
        "benchmark": OWN_FILE,
        "preset": "tiny",
        "set:env.data_path": "t.jsonl",
        "set:env.skill_init": "no_such_skill",
        "set:env.editable": "SKILL.md scripts/*.py",
        "set:train.num_epochs": "two",
    }
    argv, skill = "set-model-command-argv", "set-env-skill_init"
    with client(tmp_path) as asking:
        found = mistakes(send(asking, "plan", **given).text)
        corrected = {**given, "set:train.num_epochs": "2", "set:env.scorer": "exact"}
        left = mistakes(send(asking, "plan", **corrected).text)
    assert set(found) == {"", "set-env-scorer", "set-train-num_epochs", skill, argv}
    assert set(left) == {"", skill, argv}


def test_a_form_of_mistakes_without_end_is_answered(tmp_path: Path) -> None:
    many = {f"set:env.wrong{n}": "1" for n in range(200)}
    with client(tmp_path) as asking:
        answer = send(asking, "plan", **TINY, **many)
    assert len(mistakes(answer.text)) == 1 + MOST_MISTAKES


@pytest.mark.parametrize(
    "values",
    [
        {"preset": ""},
        {"preset": "", "set:model.backend": "simulated", "set:env.split_mode": "ratio"},
        {"set:env.split_mode": "split_dir"},
        {"set:env.split_dir": "a", "set:env.data_path": "b"},
        {"set:optimizer.min_learning_rate": "9"},
        {"set:env.skill_init": "nowhere.md"},
        {"set:env.skill_init": "a.md", "set:env.from_scratch": "true"},
        {"set:env.editable": "SKILL.md"},
        {"set:train.num_epochs": "many"},
        {"set:run.max_usd": "1", "set:model.target.backend": "local"},
        {"run_id": "a"},
        {"benchmark": "docvqa", "set:model.target.backend": "local"},
        {"set:run.max_rollouts": "50"},
    ],
)
def test_a_form_is_told_in_words_of_the_form(trained: Path, values: dict[str, str]) -> None:
    with client(trained) as asking:
        answer = send(asking, "plan", **{**TINY, **values})
    page = parsed(answer.text)
    told = [e for e in page.iter() if "error" in e.get("class", "").split() and text_of(e)]
    told += [e for part in page.iter("section") for e in part.iter("li")]
    assert told
    for text in map(text_of, told):
        assert not re.search(r"(^|\s)--[a-z]|flag", text), text
    assert "`" not in text_of(page)
    errors = " ".join(mistakes(answer.text).values())
    assert not set(re.findall(r"[a-z_]+(?:\.[a-z0-9_]+)+", errors)) & {*known_keys(), *OWN_FIELDS}
    labels = {*map(title_of, [*known_keys(), *OWN_FIELDS, "run_id", "preset"])}
    assert answer.status_code == 200 or any(label in errors for label in labels)


def test_settings_of_the_form_are_named_by_their_labels_and_no_two_have_the_same() -> None:
    settings = {*known_keys(), *OWN_FIELDS}
    assert len({*map(title_of, settings)}) == len(settings)
    said = "env.answer_key: run.max_usd.csv and `train.seed` of 3, `model.codex_exec.timeout`."
    assert in_labels(said) == (
        '"Answer column": run.max_usd.csv and "Seed" of 3, "Codex exec timeout".'
    )
    assert in_labels("unknown key env.lim; `env.out_root`") == "unknown key env.lim; `env.out_root`"
    hint = "name it with `env.answer_key=NAME`, or `train.num_epochs=2`; see /etc/run.max_usd"
    assert in_fields(hint) == 'name it with "Answer column", or "Epochs" 2; see /etc/run.max_usd'


def test_the_errors_above_the_form_lead_to_fields_by_their_labels(tmp_path: Path) -> None:
    values = {"run_id": "a b", "set:train.num_epochs": "two"}
    with client(tmp_path) as asking:
        page = parsed(send(asking, "plan", **TINY, **values).text)
    alert = next(e for e in page.iter() if e.get("role") == "alert")
    assert text_of(alert) == "Nothing was started: see Run id, Epochs."
    assert [a.get("href") for a in alert.iter("a")] == ["#run_id", "#set-train-num_epochs"]


def test_a_missing_endpoint_is_told_at_the_common_field_of_the_backend(tmp_path: Path) -> None:
    with client(tmp_path) as asking:
        answer = send(asking, "plan", benchmark="searchqa")
    page = parsed(answer.text)
    alert = [text_of(e) for e in page.iter() if e.get("role") == "alert"]
    assert alert == ["Nothing was started: see Backend."]
    told = mistakes(answer.text)[BACKEND]
    assert told == (
        'no model endpoint is configured for the optimizer Hint: fill in "Base url", or choose a'
        ' "Backend" that needs none, or try "Preset" demo; the backends "local" and "simulated"'
        " need no key"
    )
    titles = [text_of(e) for e in page.iter("label")]
    assert {"Backend model.backend", "Base url model.base_url", "Preset"} <= set(titles)
    closed = [e.get("name") for group in page.iter("details") for e in group.iter()]
    assert "set:model.backend" not in closed and "set:model.base_url" not in closed


def test_the_hint_for_a_taken_name_has_the_title_of_its_field(trained: Path) -> None:
    with client(trained) as asking:
        told = mistakes(send(asking, "plan", **TINY, run_id="a").text)["run_id"]
    assert told.endswith('choose another "Run id"')


def test_the_plan_is_that_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = {**TINY, "set:train.num_epochs": "3"}
    with client(Path("outputs")) as asking:
        page = parsed(send(asking, "plan", **given).text)
    (section,) = (e for e in page.iter("section") if e.get("id") == "plan")
    shown = [[text_of(cell) for cell in row] for row in section.findall(".//tbody/tr")]
    parts = [text_of(e) for e in section.iter("th") if e.get("class") == "part"]
    assert parts[:3] == ["baseline", "steps", "final test"]
    (command,) = (text_of(e) for e in section.iter("pre"))
    program, verb, *arguments = command.split()
    assert (program, verb) == ("skillopt", "train")
    told = skillopt("plan", *arguments)
    assert told.code == 0, told.err
    said = [" ".join(line.split()) for line in told.out.splitlines()]
    for row in shown:
        assert " ".join(part for part in row if part) in said
    notes = [text_of(item) for item in section.iter("li")]
    assert notes and all(note in said for note in notes)


def test_what_was_not_shown_is_not_started(tmp_path: Path) -> None:
    with client(tmp_path) as asking:
        mark = mark_of(send(asking, "plan", **TINY))
        other = {**TINY, "set:train.num_epochs": "3"}
        answer = send(asking, "start", planned=mark, **other)
        assert answer.status_code == 200
        assert "has changed since its plan was shown" in answer.text
        assert mark_of(answer) == mark_of(send(asking, "plan", **other)) != mark
        assert send(asking, "start", **TINY).status_code == 200
    assert list(tmp_path.iterdir()) == []


def test_what_a_file_asks_for_is_agreed_to_by_a_box(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `.env` of the folder that the page was started in sends the key elsewhere."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    Path(".env").write_text("OPENAI_BASE_URL=http://127.0.0.1:9/v1\n", encoding="utf-8")
    names = {f"set:model.{role}.name": "m" for role in ("target", "optimizer")}
    given = {"benchmark": "searchqa", "run_id": "mine", **names}
    given["set:model.backend"] = "openai_compatible"
    launched: list[list[str]] = []
    monkeypatch.setattr(start_run, "launch", lambda argv, folder: launched.append(list(argv)))
    with client(tmp_path) as asking:
        shown = send(asking, "plan", **given)
        sentence = ".env asks to send OPENAI_API_KEY to http://127.0.0.1:9 (OPENAI_BASE_URL)"
        assert sentence in text_of(parsed(shown.text))
        (box,) = (e for e in parsed(shown.text).iter("input") if e.get("name") == "trust")
        planned = {"planned": mark_of(shown), **given}
        for consent in ({}, {"trust": "yes"}):
            answer = send(asking, "start", **planned, **consent)
            assert answer.status_code == 200
            assert "you have not agreed to this" in answer.text
        assert launched == []
        answer = send(asking, "start", **planned, trust=str(box.get("value")))
        assert answer.status_code == 303
        assert len(launched) == 1
        # What was agreed to is not asked again, and anything else is.
        assert 'name="trust"' not in send(asking, "plan", **given).text
        Path(".env").write_text("OPENAI_BASE_URL=http://127.0.0.1:8/v1\n", encoding="utf-8")
        assert "http://127.0.0.1:8" in send(asking, "start", **planned).text
    assert len(launched) == 1


def test_a_form_without_our_sign_starts_nothing(tmp_path: Path) -> None:
    with client(tmp_path) as asking:
        given = {**TINY, "run_id": "mine"}
        mark = mark_of(send(asking, "plan", **given))
        answer = send(asking, "start", form_token="of another", planned=mark, **given)
        assert answer.status_code == 422
        assert "so nothing was done" in answer.text
        assert fields(answer.text)["run_id"] == "mine"
        bare = asking.post("/new", data={"do": "start", "planned": mark, **given})
        assert bare.status_code == 403
    assert list(tmp_path.iterdir()) == []


PROGRAMS = [
    (
        {"set:model.target.backend": "command", "set:model.command.argv": '["/bin/true"]'},
        "/bin/true",
    ),
    (
        {"set:model.optimizer.backend": "copilot_chat", "set:model.optimizer.name": "x"},
        "copilot",
    ),
    ({"benchmark": "swebench"}, "code of swebench"),
    ({"benchmark": "spreadsheetbench"}, "code of spreadsheetbench"),
]


@pytest.mark.parametrize(("values", "starter"), PROGRAMS)
def test_without_a_token_no_run_with_programs_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, str], starter: str
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "a-token-of-copilot")
    given = {**TINY, **values}
    mark = Given.of(given).mark
    with client(tmp_path, Access("")) as asking:
        for action in ("plan", "start"):
            answer = send(asking, action, planned=mark, **given)
            assert answer.status_code == 422
            told = mistakes(answer.text)[""]
            assert f"starts no run with programs, which this one has: {starter}" in told
            assert "without --no-token" in told
        assert send(asking, "plan", **TINY).status_code == 200
    with client(tmp_path) as asking:
        assert "starts no run with programs" not in send(asking, "plan", **given).text
    assert list(tmp_path.iterdir()) == []


def test_a_run_does_not_get_the_token_of_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "got ${{{VARIABLE}-none}} and $KEPT"\n')
    program.chmod(0o755)
    monkeypatch.setattr(launching.sys, "executable", str(program))
    monkeypatch.setenv(VARIABLE, TOKEN)
    monkeypatch.setenv("KEPT", "others")
    with pytest.raises(SkillOptError) as caught:
        launching.launch(["train"], tmp_path / "searchqa/a")
    assert caught.value.hint == "it printed: got none and others"


def test_a_form_is_bounded(tmp_path: Path) -> None:
    with client(tmp_path) as asking:
        long = send(asking, "plan", **TINY, run_id="x" * 300_000)
        assert (long.status_code, "256 kB at most" in long.text) == (422, True)
        many = {f"set:a.b{n}": "1" for n in range(1500)}
        assert send(asking, "plan", **many).status_code == 422


@pytest.mark.parametrize(
    "key", ["env.out_root", "env.out-root", "env.name", "run.display", "env", "--record"]
)
def test_no_field_leads_out_of_the_outputs_folder(tmp_path: Path, key: str) -> None:
    with client(tmp_path) as asking:
        answer = send(asking, "plan", **TINY, **{f"set:{key}": "/elsewhere"})
    assert answer.status_code == 200
    assert "/elsewhere" not in answer.text


def test_markup_in_what_is_typed_stays_text(tmp_path: Path) -> None:
    script = '"><script>alert(1)</script>'
    with client(tmp_path) as asking:
        answer = send(asking, "plan", benchmark=script, run_id=script, **{"set:env.x": script})
    assert "<script>alert" not in answer.text
    assert fields(answer.text)["run_id"] == script


@pytest.mark.parametrize("finished", [True, False])
def test_a_taken_run_id_is_told_before_anything_is_started(
    trained: Path, tmp_path: Path, finished: bool
) -> None:
    root = shutil.copytree(trained, tmp_path / "outputs")
    if not finished:
        log = root / "searchqa" / "a" / "events.jsonl"
        lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
        log.write_text("".join(lines[:-1]), encoding="utf-8")
    with client(root) as asking:
        answer = send(asking, "plan", **TINY, run_id="a")
    told = parsed(answer.text).find(".//*[@id='run_id-error']")
    assert told is not None
    assert "exists already" in text_of(told) and "choose another" in text_of(told)
    assert ("skillopt resume" in text_of(told)) is not finished


def test_a_run_that_cannot_begin_says_why_in_its_own_words(tmp_path: Path) -> None:
    folder = tmp_path / "searchqa" / "a"
    with pytest.raises(SkillOptError, match="must be at least 1, not 0") as caught:
        launching.launch(["train", "searchqa", "--batch-size=0", "--run-id=a"], folder)
    assert caught.value.message.startswith("`train.batch_size`")
    assert list(tmp_path.glob(".starting*")) == []


def test_a_run_that_fails_at_once_is_told_in_words_of_the_form(tmp_path: Path) -> None:
    # No run folder can be made in what is no folder.
    (tmp_path / "searchqa").write_text("", encoding="utf-8")
    with client(tmp_path) as asking:
        mark = mark_of(send(asking, "plan", **TINY))
        answer = send(asking, "start", planned=mark, **TINY)
    assert answer.status_code == 422
    told = mistakes(answer.text)[""]
    assert "cannot make the run folder" in told
    assert "choose another env.out_root=FOLDER" in told


def test_what_a_launched_run_was_told_is_not_called_a_flag(tmp_path: Path) -> None:
    folder = tmp_path / "searchqa" / "a"
    with pytest.raises(SkillOptError) as caught:
        launching.launch(["train", "searchqa", "--set=train.batch_size=0"], folder)
    assert caught.value.message.startswith("`train.batch_size` (the form) must be at least 1")


def test_a_key_that_was_typed_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-secret-of-forty-letters-and-more")
    with client(tmp_path) as asking:
        answer = send(
            asking,
            "plan",
            **TINY,
            **{"set:model.target.name": "a-secret-of-forty-letters-and-more"},
        )
    page = parsed(answer.text)
    said = [text_of(e) for e in page.iter() if "error" in e.get("class", "").split()]
    assert said and all("a-secret" not in text for text in said)


def test_the_help_of_a_field_states_once_what_it_is_when_left_empty(tmp_path: Path) -> None:
    with client(tmp_path) as asking:
        form = parsed(asking.get("/new").text)
        preset = parsed(asking.get("/new?benchmark=searchqa&preset=tiny").text)
    help_texts = {s.get("id", ""): text_of(s) for s in form.iter("span")}
    answer = help_texts["set-env-answer_key-help"]
    assert "empty takes" not in answer and "If left empty: inferred from the file." in answer
    seed = help_texts["set-env-skill_init-help"]
    assert "empty takes the benchmark's own sentence" in seed and "If left empty" not in seed
    assert not any("preset default" in text for text in help_texts.values())
    assert "(preset tiny)" in text_of(preset)
