"""Adopting a trained skill folder: all of what the run changed, or nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skillopt_cli.apply_skill.folder import FolderChange, apply_to_folder, undo_folder
from skillopt_cli.core.errors import UsageError
from skillopt_cli.skill_folder import read_companions

NOW = datetime(2026, 1, 31, 10, 30, tzinfo=UTC)
FRONT = "---\nname: mine\n---\n"
SEED = {"SKILL.md": "# Rules\n", "refs/how.md": "Short.\n", "refs/kept.md": "Kept.\n"}
BEST = SEED | {"SKILL.md": "# Rules\n- One word.\n", "refs/how.md": "In one word.\n"}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    for path, text in SEED.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    (folder / "SKILL.md").write_text(FRONT + SEED["SKILL.md"], encoding="utf-8")
    return folder


def held(folder: Path) -> dict[str, str]:
    beside = dict(read_companions(folder).texts)
    return {"SKILL.md": (folder / "SKILL.md").read_text(encoding="utf-8"), **beside}


def change(folder: Path, texts: dict[str, str], **more: Any) -> FolderChange:
    return FolderChange(folder, texts, SEED, **more)


def test_what_the_run_changed_is_written_and_nothing_else(mine: Path) -> None:
    (mine / "refs/kept.md").write_text("My own words.\n", encoding="utf-8")
    before = held(mine)
    written = apply_to_folder(change(mine, BEST), NOW)
    assert {path.relative_to(mine).as_posix() for path in written} == {"SKILL.md", "refs/how.md"}
    assert held(mine) == before | BEST | {
        "SKILL.md": FRONT + BEST["SKILL.md"],
        "refs/kept.md": "My own words.\n",
    }
    assert apply_to_folder(change(mine, BEST, force=True), NOW) == {}
    assert set(undo_folder(mine, NOW).restored) == set(written)
    assert held(mine) == before


def test_a_changed_file_keeps_all_of_them_as_they_are(mine: Path) -> None:
    (mine / "refs/how.md").write_text("Mine.\n", encoding="utf-8")
    before = held(mine)
    with pytest.raises(UsageError, match=r"how\.md is not the seed of the run any more"):
        apply_to_folder(change(mine, BEST), NOW)
    assert held(mine) == before
    assert not list(mine.rglob("*.bak"))
    apply_to_folder(change(mine, BEST, force=True), NOW)
    assert held(mine)["refs/how.md"] == BEST["refs/how.md"]


def test_a_new_file_is_made_where_there_is_none(mine: Path) -> None:
    new = SEED | {"scripts/trim.sh": "echo hi\n"}
    written = apply_to_folder(change(mine, new, programs=frozenset({"scripts/trim.sh"})), NOW)
    assert written == {mine / "scripts/trim.sh": None}
    assert (mine / "scripts/trim.sh").stat().st_mode & 0o100
    (mine / "scripts/trim.sh").write_text("mine\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"trim\.sh is not the seed"):
        apply_to_folder(change(mine, new), NOW)


def test_a_file_that_is_gone_is_written_by_force_only(mine: Path) -> None:
    (mine / "refs/how.md").unlink()
    with pytest.raises(UsageError, match=r"how\.md was removed"):
        apply_to_folder(change(mine, BEST), NOW)
    assert held(mine)["SKILL.md"] == FRONT + SEED["SKILL.md"]
    apply_to_folder(change(mine, BEST, force=True), NOW)
    assert held(mine)["refs/how.md"] == BEST["refs/how.md"]


def test_only_the_newest_adoption_is_undone(mine: Path) -> None:
    apply_to_folder(change(mine, SEED | {"refs/how.md": "First.\n"}), NOW)
    apply_to_folder(change(mine, BEST, force=True), NOW + timedelta(hours=1))
    apply_to_folder(
        change(mine, BEST | {"SKILL.md": "# Third\n"}, force=True), NOW + timedelta(hours=2)
    )
    assert set(undo_folder(mine, NOW).restored) == {mine / "SKILL.md"}
    assert held(mine) == BEST | {"SKILL.md": FRONT + BEST["SKILL.md"]}


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_undo_removes_what_was_added_with_its_folders(mine: Path) -> None:
    before = files(mine)
    new = BEST | {"a/b/one.md": "1\n", "a/two.md": "2\n", "refs/three.md": "3\n"}
    apply_to_folder(change(mine, new), NOW)
    assert held(mine)["a/b/one.md"] == "1\n"
    undone = undo_folder(mine, NOW)
    assert {path.relative_to(mine).as_posix() for path in undone.removed} == {
        *("a/b/one.md", "a/two.md", "refs/three.md")
    }
    assert len(undone.restored) == 2 and undone.kept == ()
    assert files(mine) == before


def test_undo_keeps_an_added_file_that_changed_and_what_was_put_beside_it(mine: Path) -> None:
    (mine / "empty").mkdir()
    new = SEED | {"a/one.md": "1\n", "b/two.md": "2\n", "empty/three.md": "3\n", "gone.md": "4\n"}
    apply_to_folder(change(mine, new), NOW)
    (mine / "a/one.md").write_text("mine\n", encoding="utf-8")
    (mine / "b/own.md").write_text("own\n", encoding="utf-8")
    (mine / "gone.md").unlink()
    undone = undo_folder(mine, NOW)
    assert undone.kept == (mine / "a/one.md",)
    assert set(undone.removed) == {mine / "b/two.md", mine / "empty/three.md"}
    assert held(mine)["a/one.md"] == "mine\n"
    assert (mine / "b/own.md").is_file() and (mine / "empty").is_dir()
    with pytest.raises(UsageError, match="no backup"):
        undo_folder(mine, NOW)


def test_a_file_added_and_changed_by_two_runs_is_undone_step_by_step(mine: Path) -> None:
    apply_to_folder(change(mine, SEED | {"new.md": "1\n"}), NOW)
    apply_to_folder(change(mine, SEED | {"new.md": "2\n"}, force=True), NOW + timedelta(hours=1))
    assert undo_folder(mine, NOW).removed == ()
    assert held(mine)["new.md"] == "1\n"
    assert undo_folder(mine, NOW).removed == (mine / "new.md",)


def test_a_folder_without_a_skill_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no skill folder"):
        apply_to_folder(change(tmp_path, BEST), NOW)
