from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillopt_cli.core.companion_files import Companion, Folder, Held
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.store.files import FileStore
from skillopt_cli.store.journal import Journal
from skillopt_cli.store.memory import MemoryStore


def skill(*files: Companion) -> SkillDocument:
    return SkillDocument("# A\n", Folder(files))


FIRST = skill(Companion("a/x.py", "1\n", executable=True), Companion("b.md", "B"))
SECOND = skill(Companion("b.md", "C"))


def files_in(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file() and path.suffix in (".md", ".py")
    }


def test_a_folder_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    with (
        Journal(tmp_path / "journal.sqlite") as journal,
        FileStore(tmp_path / "r", journal) as disk,
    ):
        memory = MemoryStore()
        for store in (disk, memory):
            store.keep("best.md", "x")
            store.keep_folder("best", FIRST)
        kept = {"best.md": "x", "best/SKILL.md": "# A\n", "best/a/x.py": "1\n", "best/b.md": "B"}
        assert files_in(disk.folder) == memory.files == kept
        assert os.access(disk.folder / "best" / "a" / "x.py", os.X_OK)
        for store in (disk, memory):
            store.keep_folder("best", SECOND)
            with pytest.raises(ValueError):
                store.keep_folder("../best", SECOND)
        kept = {"best.md": "x", "best/SKILL.md": "# A\n", "best/b.md": "C"}
        assert files_in(disk.folder) == memory.files == kept
        assert not [p for p in disk.folder.iterdir() if p.name.startswith(".")]


def test_what_cannot_be_laid_out_leaves_the_old_one(tmp_path: Path) -> None:
    with (
        Journal(tmp_path / "journal.sqlite") as journal,
        FileStore(tmp_path / "r", journal) as disk,
    ):
        disk.keep_folder("best", FIRST)
        with pytest.raises(DataError, match="cannot read"):
            disk.keep_folder("best", skill(Companion("x", Held("0" * 64, 1, "/nowhere/x"))))
        assert set(files_in(disk.folder)) == {"best/SKILL.md", "best/a/x.py", "best/b.md"}
        assert len(list(disk.folder.iterdir())) == 1
