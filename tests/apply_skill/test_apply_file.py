"""Adopting a trained skill: the user's file is never lost, and never written over unseen."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.apply_skill.file import FileChange, applied_text, apply_to_file, undo
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.core.skill import SLOW_UPDATE, SkillDocument

NOW = datetime(2026, 1, 31, 10, 30, tzinfo=UTC)
FRONT = "---\nname: mine\n---\n"
SEED = "# Rules\n\n- Answer.\n"
BETTER = "# Rules\n\n- Answer in one word.\n"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "SKILL.md"
    path.write_text(FRONT + SEED)
    return path


def test_the_text_is_written_below_the_files_own_front_matter(target: Path) -> None:
    backup = apply_to_file(FileChange(target, BETTER, SEED), NOW)
    assert target.read_text(encoding="utf-8") == FRONT + BETTER
    assert backup is not None and backup.name.startswith("SKILL.md.20260131T103000Z.")
    assert backup.read_text() == FRONT + SEED
    assert sorted(p.name for p in target.parent.iterdir()) == [target.name, backup.name]


def test_front_matter_is_taken_over_on_request(target: Path) -> None:
    theirs = "---\nname: theirs\n---\n"
    seed = FRONT + SEED
    apply_to_file(FileChange(target, theirs + BETTER, seed, with_front_matter=True), NOW)
    assert target.read_text(encoding="utf-8") == theirs + BETTER


def test_a_file_that_changed_since_the_run_is_refused(target: Path) -> None:
    target.write_text(FRONT + SEED + "- Mine.\n", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        apply_to_file(FileChange(target, BETTER, SEED), NOW)
    assert "--force" in caught.value.hint
    assert target.read_text(encoding="utf-8") == FRONT + SEED + "- Mine.\n"
    assert list(target.parent.iterdir()) == [target]
    backup = apply_to_file(FileChange(target, BETTER), NOW)
    assert target.read_text(encoding="utf-8") == FRONT + BETTER
    assert backup is not None and backup.read_text().endswith("- Mine.\n")


def test_changed_front_matter_counts_only_where_it_would_be_lost(target: Path) -> None:
    target.write_text("---\nname: changed\n---\n" + SEED, encoding="utf-8")
    with pytest.raises(UsageError):
        apply_to_file(FileChange(target, FRONT + BETTER, FRONT + SEED, with_front_matter=True), NOW)
    apply_to_file(FileChange(target, FRONT + BETTER, FRONT + SEED), NOW)
    assert target.read_text(encoding="utf-8") == "---\nname: changed\n---\n" + BETTER


def test_a_text_that_is_there_already_makes_no_backup(target: Path) -> None:
    assert apply_to_file(FileChange(target, SEED, SEED), NOW) is None
    assert list(target.parent.iterdir()) == [target]


def test_backups_never_write_over_each_other_and_undo_takes_the_newest(target: Path) -> None:
    texts = [f"# Rules {i}\n" for i in range(12)]
    for text in texts:
        apply_to_file(FileChange(target, text), NOW)
    apply_to_file(FileChange(target, "# Last\n"), NOW + timedelta(seconds=1))
    for text in [*reversed(texts), SEED]:
        undo(target, NOW)
        assert target.read_text(encoding="utf-8") == FRONT + text
    with pytest.raises(UsageError, match="no backup"):
        undo(target, NOW)


def test_undo_keeps_what_it_replaces(target: Path) -> None:
    apply_to_file(FileChange(target, BETTER, SEED), NOW)
    target.write_text("edited since\n", encoding="utf-8")
    backup, kept = undo(target, NOW)
    assert target.read_text(encoding="utf-8") == FRONT + SEED
    assert kept is not None and kept.read_text() == "edited since\n"
    assert not backup.exists()


def test_undo_leaves_nothing_behind_of_a_text_as_it_was_written(target: Path) -> None:
    before = target.stat().st_mtime
    apply_to_file(FileChange(target, BETTER, SEED), NOW)
    assert undo(target, NOW)[1] is None
    assert list(target.parent.iterdir()) == [target]
    assert (target.read_text(encoding="utf-8"), target.stat().st_mtime) == (FRONT + SEED, before)
    with pytest.raises(UsageError) as caught:
        undo(target, NOW)
    assert "nothing is left to undo" in caught.value.hint
    assert f"`skillopt diff-skills RUN --apply {target}` writes" in caught.value.hint


def test_a_backup_of_an_earlier_version_is_restored_and_what_it_replaces_is_kept(
    target: Path,
) -> None:
    target.with_name("SKILL.md.20260131T103000Z-2.bak").write_text("old\n", encoding="utf-8")
    _, kept = undo(target, NOW)
    assert target.read_text(encoding="utf-8") == "old\n"
    assert kept is not None and kept.read_text(encoding="utf-8") == FRONT + SEED


def test_a_link_stays_a_link_and_the_mode_stays(target: Path, tmp_path: Path) -> None:
    link = tmp_path / "linked" / "SKILL.md"
    link.parent.mkdir()
    link.symlink_to(target)
    target.chmod(0o640)
    apply_to_file(FileChange(link, BETTER, SEED), NOW)
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == FRONT + BETTER
    assert target.stat().st_mode & 0o777 == 0o640
    undo(link, NOW)
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == FRONT + SEED


def test_other_files_beside_it_are_no_backups(target: Path) -> None:
    target.with_name("SKILL.md.bak").write_text("x")
    target.with_name("SKILL.md.20260131T103000Z.undone").write_text("x")
    target.with_name("OTHER.md.20260131T103000Z.bak").write_text("x")
    with pytest.raises(UsageError, match="no backup"):
        undo(target, NOW)


@pytest.mark.parametrize("name", ["gone.md", "."])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        apply_to_file(FileChange(tmp_path / name, BETTER), NOW)
    with pytest.raises(UsageError):
        undo(tmp_path / name, NOW)


def test_odd_files_are_refused_unharmed(target: Path) -> None:
    target.write_bytes(b"\xff")
    with pytest.raises(DataError):
        apply_to_file(FileChange(target, BETTER), NOW)
    target.write_text("<!-- APPENDIX_START -->\n", encoding="utf-8")
    with pytest.raises(DataError):
        apply_to_file(FileChange(target, BETTER), NOW)
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_no_bug(target: Path) -> None:
    target.parent.chmod(0o500)
    try:
        with pytest.raises(DataError):
            apply_to_file(FileChange(target, BETTER), NOW)
    finally:
        target.parent.chmod(0o700)


@given(st.sampled_from(["", FRONT]), st.sampled_from(["", FRONT]), st.text("a#\n"))
def test_what_the_file_will_hold(held: str, given_front: str, body: str) -> None:
    text = given_front + body
    assert applied_text(held + SEED, text, with_front_matter=True) == text
    assert applied_text(held + SEED, text, with_front_matter=False) == held + body


MARKED = SkillDocument(FRONT + BETTER).with_region(SLOW_UPDATE, "Read twice.").text


@pytest.mark.parametrize("whole", [False, True])
def test_no_mark_of_ours_is_written(target: Path, whole: bool) -> None:
    change = FileChange(target, MARKED, FRONT + SEED, with_front_matter=whole)
    assert apply_to_file(change, NOW) is not None
    assert target.read_text(encoding="utf-8") == f"{FRONT}{BETTER}\nRead twice.\n"
    assert apply_to_file(change, NOW) is None


@pytest.mark.parametrize("whole", [False, True])
def test_a_file_stays_byte_for_byte_when_nothing_won(target: Path, whole: bool) -> None:
    held = FRONT + SEED.rstrip("\n")
    target.write_text(held, encoding="utf-8")
    text = SkillDocument(held).with_region(SLOW_UPDATE, "").text
    assert apply_to_file(FileChange(target, text, held, with_front_matter=whole), NOW) is None
    assert target.read_text(encoding="utf-8") == held


def test_a_companion_file_may_hold_anything(target: Path) -> None:
    text = "<!-- APPENDIX_END -->\n"
    change = FileChange(target, text, with_front_matter=True, companion=True)
    assert apply_to_file(change, NOW) is not None
    assert target.read_text(encoding="utf-8") == text
