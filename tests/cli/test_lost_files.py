"""Files of a run folder that were removed or damaged: said aloud or refused, never passed over."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import SMALLEST, TINY, events, finished_run, refused, skillopt, train

from skillopt_cli.store.lock import lock_run

CAPPED = (*TINY, "--max-rollouts", "40")


@pytest.fixture
def stopped() -> Path:
    """A training that a cap stopped after its first checkpoints."""
    ended = skillopt("train", "searchqa", *CAPPED, "--run-id", "a")
    assert ended.code == 5, ended.err
    folder = Path("outputs/searchqa/a")
    assert (folder / "state.prev.json").is_file()
    return folder


RESUME = ("resume", "a", "--max-rollouts", "1000")


def test_a_missing_manifest_is_no_leave_to_skip_the_check(stopped: Path) -> None:
    (stopped / "manifest.json").unlink()
    ended = refused(2, *RESUME)
    assert "manifest.json is missing" in ended.err and "--allow-drift" in ended.hint
    ended = skillopt(*RESUME, "--allow-drift")
    assert ended.code == 0, ended.err
    (fact,) = events(stopped, "drift_allowed")
    assert "manifest.json is missing" in str(fact)


def test_missing_checkpoints_do_not_begin_the_run_anew(stopped: Path) -> None:
    (stopped / "state.json").unlink()
    (stopped / "state.prev.json").unlink()
    for flags in ((), ("--allow-drift",)):
        ended = refused(3, *RESUME, *flags)
        assert f"{stopped} holds no checkpoint, and its log has one after step" in ended.error
        assert "cache_dir" in ended.hint


def test_a_checkpoint_without_its_log_is_refused(stopped: Path) -> None:
    (stopped / "events.jsonl").unlink()
    ended = refused(3, *RESUME)
    assert f"{stopped} holds a checkpoint and no log" in ended.error
    assert "events.jsonl" in ended.hint


def test_a_checkpoint_that_its_log_does_not_reach_is_refused(stopped: Path) -> None:
    log = stopped / "events.jsonl"
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    ended = refused(3, *RESUME)
    assert f"{stopped} holds a checkpoint after step 2, and its log ends with step 1" in ended.error
    assert "events.jsonl" in ended.hint


@pytest.mark.parametrize("journal", ["kept", "missing"])
def test_steps_without_checkpoints_and_log_are_not_made_again(stopped: Path, journal: str) -> None:
    for name in ("state.json", "state.prev.json", "events.jsonl"):
        (stopped / name).unlink()
    if journal == "missing":
        (stopped / "journal.sqlite").unlink()
    ended = refused(3, *RESUME)
    assert f"{stopped} holds steps, and neither a checkpoint nor a log" in ended.error
    assert "state.json and events.jsonl" in ended.hint and "cache_dir" in ended.hint


def test_a_missing_or_empty_configuration_is_named(stopped: Path) -> None:
    config = stopped / "config.yaml"
    config.write_text("", encoding="utf-8")
    assert "config.yaml names no benchmark" in refused(3, *RESUME).error
    config.unlink()
    for run in ("a", stopped):
        ended = refused(2, "resume", run)
        assert f"{stopped} is no whole run: config.yaml is missing" in ended.error
        assert "config.yaml" in ended.hint


def test_a_lock_that_is_no_file_is_named(stopped: Path) -> None:
    (stopped / "run.lock").unlink()
    (stopped / "run.lock").mkdir()
    assert f"{stopped}/run.lock cannot be opened: Is a directory" in refused(3, *RESUME).error


@pytest.mark.parametrize("damage", ["missing", "empty"])
def test_a_missing_journal_is_told_before_it_costs_anything(stopped: Path, damage: str) -> None:
    (stopped / "journal.sqlite").unlink()
    if damage == "empty":
        (stopped / "journal.sqlite").touch()
    ended = skillopt(*RESUME)
    assert ended.code == 0, ended.err
    assert "journal: journal.sqlite is missing: what it held is attempted" in ended.err


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_a_checkpoint_that_is_passed_over_is_told(stopped: Path, damage: str) -> None:
    state = stopped / "state.json"
    if damage == "missing":
        state.unlink()
    else:
        state.write_bytes(state.read_bytes()[:100])
    ended = skillopt(*RESUME)
    assert ended.code == 0, ended.err
    assert f"checkpoint: state.json is {damage}; the run goes on from the one before" in ended.err


def test_two_damaged_checkpoints_are_refused(stopped: Path) -> None:
    for name in ("state.json", "state.prev.json"):
        (stopped / name).write_text("{", encoding="utf-8")
    ended = refused(3, *RESUME)
    assert "state.json and state.prev.json damaged" in ended.error


def test_a_finished_run_without_a_manifest_is_told() -> None:
    folder = finished_run(*SMALLEST)
    (folder / "manifest.json").unlink()
    assert "manifest.json cannot be read" in refused(3, "resume", folder).error


def test_a_live_run_whose_lock_was_removed_is_not_written_twice() -> None:
    folder = train(*SMALLEST)
    with lock_run(folder):
        (folder / "run.lock").unlink()
        ended = refused(2, "resume", folder, "--allow-drift", "--set", "train.num_epochs=2")
        assert f"{folder} is in use" in ended.error
