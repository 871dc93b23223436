"""Runs of other versions: read, taken up, or refused in one sentence that names the file.

`earlier_run` holds a run of version 0.1.0, killed in its third of four steps, from before edits
were verified; HOME in its configuration is the folder that its tasks are in.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import skillopt

from skillopt_cli import __version__
from skillopt_cli.store.layout import CONFIG, EVENTS, MANIFEST

EARLIER = Path(__file__).parent / "earlier_run"
RUN = Path("outputs/searchqa/earlier")


@pytest.fixture(autouse=True)
def earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run in a folder of its own, in which it was begun."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EARLIER / "tasks", "tasks")
    shutil.copytree(EARLIER / "run", RUN)
    change(CONFIG, lambda text: text.replace("HOME", str(tmp_path)))
    return tmp_path


def change(name: str, made: Callable[[str], str]) -> None:
    path = RUN / name
    before = path.read_text(encoding="utf-8")
    path.write_text(made(before), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != before


def test_a_run_of_an_earlier_version_is_read() -> None:
    (listed,) = skillopt("runs", "list", "--json").json
    assert (listed["status"], listed["total_steps"]) == ("interrupted", 2)
    report = skillopt("gate-report", RUN)
    assert report.code == 0
    assert "0.60" in report.out
    compared = skillopt("diff-skills", f"{RUN}:seed", f"{RUN}:best")
    assert compared.code == 0
    assert 'step 1: add "- Write numbers as digits' in compared.out


def test_it_is_resumed_only_if_the_changes_are_allowed() -> None:
    refused = skillopt("resume", RUN, "--display", "none")
    assert refused.code == 2
    assert refused.error == (
        "error: the run cannot go on under changed conditions, as an earlier version of skillopt"
        " began it:"
    )
    assert '  optimizer.verify: (no such setting) -> "off"' in refused.err.splitlines()
    assert "prompt analyst_error reads differently" in refused.err
    assert refused.hint == (
        "hint: finish it with the version that began it, or add --allow-drift to go on and have it"
        " recorded"
    )
    before = (RUN / EVENTS).read_bytes()
    taken_up = skillopt("resume", RUN, "--allow-drift", "--display", "none", "--json")
    assert taken_up.code == 0
    assert (RUN / EVENTS).read_bytes().startswith(before)
    summary = json.loads(taken_up.out.splitlines()[-1])["summary"]
    assert (summary["status"], summary["total_steps"]) == ("finished", 4)
    # What the first version measured counts: the baseline and step 1 are not attempted again.
    events = [json.loads(line)["event"] for line in (RUN / EVENTS).read_text("utf-8").splitlines()]
    again = [e for e in events[len(before.splitlines()) :] if e["kind"] == "rollout_finished"]
    assert all(
        event["recalled"] for event in again if event["step"] == 0 and event["stage"] != "test"
    )
    assert skillopt("resume", RUN, "--display", "none").code == 0


@pytest.mark.parametrize("name", [EVENTS, "state.json", MANIFEST])
def test_a_run_of_a_newer_schema_is_refused(name: str) -> None:
    change(
        name,
        lambda text: text.replace('"schema":1', '"schema":2').replace('"schema": 1', '"schema": 2'),
    )
    refused = skillopt("resume", RUN, "--allow-drift", "--display", "none")
    assert refused.code == 3
    assert name in refused.error
    assert "schema 2, this version reads up to 1" in refused.error
    assert refused.hint == "hint: upgrade skillopt, or use the version that wrote it"
    report = skillopt("gate-report", RUN)
    assert (report.code, name in report.err) == ((3, True) if name == EVENTS else (0, False))
    (listed,) = skillopt("runs", "list", "--json").json
    assert listed["status"] == ("unreadable" if name == EVENTS else "interrupted")


def test_an_event_of_a_newer_version_is_named() -> None:
    change(EVENTS, lambda text: text.replace('"kind":"batch_scored"', '"kind":"of_tomorrow"'))
    for command in (("gate-report", RUN), ("resume", RUN, "--display", "none")):
        refused = skillopt(*command)
        assert refused.code == 3
        assert f"{RUN}/{EVENTS} is of the kind `of_tomorrow`, which this" in refused.error
        assert refused.hint == "hint: upgrade skillopt, or use the version that wrote it"


def test_a_setting_of_a_newer_version_is_refused_with_that_version() -> None:
    change(
        CONFIG, lambda text: text.replace("  patience: 0\n", "  patience: 0\n  of_tomorrow: 1\n")
    )
    refused = skillopt("resume", RUN, "--display", "none")
    assert refused.code == 2
    assert "of_tomorrow" in refused.error
    assert "began the run" not in refused.hint
    change(MANIFEST, lambda text: text.replace(f'"skillopt": "{__version__}"', '"skillopt": "9.1"'))
    refused = skillopt("resume", RUN, "--display", "none")
    assert refused.hint.endswith("; skillopt 9.1 began the run and can resume it")
