"""Hints that name a resume hold: before anything was measured, and after a silent optimizer."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from command_line import SMALLEST, TINY, events, finished_run, outcome, refused, skillopt, train
from plugin_folder import install

MUMBLING = dedent("""
    from skillopt_cli.backends.simulated import Simulated
    from skillopt_cli.backends.simulated.settings import SimulatedConfig
    from skillopt_cli.core.task import ChatReply
    from skillopt_cli.ports import BackendSpec

    class Mumbling(Simulated):
        def __init__(self, role):
            super().__init__(SimulatedConfig())
            self.name, self.fingerprint = role.model, role.model

        async def chat(self, request):
            if self.name == "mumbler" and request.stage != "preflight":
                return ChatReply("hm")
            return await super().chat(request)

    SPEC = BackendSpec("mumbling", "says nothing", frozenset(["optimizer"]), Mumbling)
""")


def test_a_run_that_failed_at_its_first_check_goes_on_with_the_mended_setting() -> None:
    failing = ("--set", "model.simulated.auth_failure=true")
    assert skillopt("train", "searchqa", *SMALLEST, *failing, "--run-id", "a").code == 4
    folder = Path("outputs/searchqa/a")
    mended = ("--set", "model.simulated.auth_failure=false", "--seed", "7")
    ended = skillopt("resume", folder, *mended)
    assert ended.code == 0, ended.err
    assert events(folder, "drift_allowed") == []
    assert (
        "resume: nothing was measured yet, so the run starts under the conditions of now:"
        " model.simulated.auth_failure: true -> false; train.seed: 42 -> 7" in ended.err
    )
    written = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    assert written["train"]["seed"] == 7
    recorded = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert recorded["config"]["train.seed"] == 7
    assert outcome(folder) == outcome(finished_run(*SMALLEST, "--seed", "7", run_id="whole"))


@pytest.mark.parametrize("changed", ["skill", "tasks", "nothing"])
def test_a_run_that_measured_nothing_reports_files_that_changed_since(changed: str) -> None:
    skillopt("data", "sample", "searchqa", "--out", "d")
    Path("mine.md").write_text("# Mine\n\nAnswer.\n", encoding="utf-8")
    folder = train(*SMALLEST, "--split-dir", "d", "--skill-init", "mine.md")
    as_killed_before_any_attempt(folder)
    if changed == "skill":
        Path("mine.md").write_text("# Mine\n\nAnswer 0.\n", encoding="utf-8")
    if changed == "tasks":
        (path,) = Path("d/test").iterdir()
        path.write_text(path.read_text(encoding="utf-8").replace("?", " ?", 1), encoding="utf-8")
    ended = skillopt("resume", folder)
    assert ended.code == 0, ended.err
    what = {"skill": "seed skill is another one", "tasks": "the test split differs in 1 task: "}
    said = events(folder, "degraded")
    assert len(said) == (changed != "nothing")
    assert all(f"conditions of now: {what[changed]}" in fact["reason"] for fact in said)
    assert ("nothing was measured yet" in ended.err) == bool(said)


def as_killed_before_any_attempt(folder: Path) -> None:
    """Leave of a run what a kill during its first attempts leaves."""
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if '"rollout_finished"' in line)
    (folder / "events.jsonl").write_text("".join(lines[:first]), encoding="utf-8")
    for name in ("state.json", "state.prev.json", "journal.sqlite"):
        (folder / name).unlink(missing_ok=True)


def test_once_something_was_measured_conditions_bind() -> None:
    folder = finished_run(*SMALLEST)
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    last = next(i for i, line in enumerate(lines) if '"rollout_finished"' in line)
    (folder / "events.jsonl").write_text("".join(lines[: last + 1]), encoding="utf-8")
    for name in ("state.json", "state.prev.json"):
        (folder / name).unlink(missing_ok=True)
    assert "train.seed" in refused(2, "resume", folder, "--seed", "7").err


def test_a_silent_optimizer_can_be_replaced_as_the_hint_says(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path_factory.mktemp("site")
    install(site, monkeypatch, {"mumbling": MUMBLING}, {"backend": {"mumbling": "mumbling:SPEC"}})
    silent = ("--optimizer-backend", "mumbling", "--optimizer-model", "mumbler")
    ended = refused(4, "train", "searchqa", *TINY, *silent, "--run-id", "a")
    assert "no usable answer" in ended.error
    assert "another model with `--optimizer-model NAME` and `--allow-drift`" in ended.hint
    assert "; `skillopt resume a` continues it" in ended.err
    ended = skillopt("resume", "a", "--optimizer-model", "other", "--allow-drift")
    assert ended.code == 0, ended.err
    assert events(Path("outputs/searchqa/a"), "run_finished")


def test_a_schedule_that_ends_before_what_is_recorded_is_refused() -> None:
    folder = finished_run(*TINY)
    before = (folder / "config.yaml").read_bytes()
    ended = refused(2, "resume", folder, "--epochs", "1", "--allow-drift")
    assert ended.error == (
        "error: the schedule of 2 steps ends before step 4, which is recorded already"
    )
    assert "train.num_epochs" in ended.hint
    assert (folder / "config.yaml").read_bytes() == before


def test_a_run_reads_its_files_from_wherever_it_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skillopt("data", "sample", "searchqa", "--out", "d")
    Path("mine.md").write_text("# Mine\n\nAnswer.\n", encoding="utf-8")
    given = ("--split-dir", "d", "--skill-init", "mine.md")
    folder = train(*SMALLEST, *given).absolute()
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "events.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    ended = skillopt("resume", folder)
    assert ended.code == 0, ended.err
    assert skillopt("eval", "--skill", folder).code == 0
    monkeypatch.chdir(tmp_path)
    ended = skillopt("resume", folder, "--skill-init", "mine.md")
    assert (ended.code, "nothing to do" in ended.err) == (0, True)
    Path("mine.md").unlink()
    ended = refused(2, "train", "searchqa", *SMALLEST, *given)
    assert str(tmp_path / "mine.md") in ended.error
    ended = refused(3, "train", "searchqa", *SMALLEST, "--split-dir", "gone")
    assert str(tmp_path / "gone") in ended.error
