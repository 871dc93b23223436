"""Skill folders on disk: what is read, what is refused, and that it is laid out as it was."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt_cli.compose.seed_skill import read_skill, seed_skill, skill_notices
from skillopt_cli.config.env_section import EnvConfig
from skillopt_cli.core.companion_files import Companion, Held, no_longer_named
from skillopt_cli.core.errors import DataError, SkillOptError, UsageError
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.skill_folder import LONGEST_TEXT, MOST_BYTES, read_companions, write_companions
from skillopt_cli.store.atomic_files import replace_folder

TEXT = "---\nname: x\n---\n# A\n"


@pytest.fixture
def home() -> Path:
    folder = Path("mine")
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(TEXT, encoding="utf-8")
    (folder / "scripts" / "x.py").write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    (folder / "scripts" / "x.py").chmod(0o755)
    (folder / "empty.md").touch()
    (folder / "logo.png").write_bytes(b"\0\xff")
    (folder / "latin.txt").write_bytes(b"gr\xf6\xdfer")
    return folder


def test_texts_are_carried_and_the_rest_is_held_by_its_digest(home: Path) -> None:
    skill = read_skill(home)
    assert skill.text == TEXT and skill.folder is not None
    digest = hashlib.sha256(b"\0\xff").hexdigest()
    latin = hashlib.sha256(b"gr\xf6\xdfer").hexdigest()
    assert skill.folder.files == (
        Companion("empty.md", ""),
        Companion("latin.txt", Held(latin, 6, "")),
        Companion("logo.png", Held(digest, 2, "")),
        Companion("scripts/x.py", "\ufeffx = 1\r\n", executable=True),
    )


def test_what_is_read_is_laid_out_byte_for_byte(home: Path) -> None:
    skill = read_skill(home)
    assert skill.folder is not None
    write_companions(skill.folder, Path("out"))
    for path in (p for p in home.rglob("*") if p.is_file() and p.name != "SKILL.md"):
        copy = Path("out", path.relative_to(home))
        assert copy.read_bytes() == path.read_bytes()
        assert os.access(copy, os.X_OK) == os.access(path, os.X_OK)
    Path("out", "SKILL.md").write_text(TEXT, encoding="utf-8")
    assert read_skill(Path("out")).digest == skill.digest


def test_a_file_with_a_second_name_is_copied(home: Path) -> None:
    """So nobody who may write in a copy alters what it was made from."""
    names = ("logo.png", "scripts/x.py", "empty.md")
    for number, name in enumerate(names):
        os.link(home / name, f"other{number}")
    folder = read_companions(home)
    write_companions(folder, Path("out"))
    for number, name in enumerate(names):
        copy, other = Path("out", name), Path(f"other{number}")
        before = other.read_bytes()
        assert (copy.stat().st_nlink, copy.read_bytes()) == (1, before)
        copy.write_bytes(b"changed")
        assert other.read_bytes() == before


def test_a_skill_folder_is_written_beside_what_others_linked_there(home: Path) -> None:
    skill, victim = read_skill(home), Path("victim")
    replace_folder(Path("best"), skill)
    for name in ("SKILL.md", "logo.png", "scripts/x.py"):
        victim.write_bytes(b"theirs")
        Path("best", name).unlink()
        os.link(victim, Path("best", name))
        replace_folder(Path("best"), skill)
        assert victim.read_bytes() == b"theirs"
        assert read_skill(Path("best")).digest == skill.digest


def test_what_others_leave_there_is_passed_over(home: Path) -> None:
    before = read_skill(home)
    for name in (
        ".git/HEAD",
        "scripts/__pycache__/x.pyc",
        ".DS_Store",
        "SKILL.md.20260131T103000Z.bak",
        "SKILL.md.20260131T103000Z-2.0123456789ab.bak",
        "SKILL.md.20260131T103000Z.undone",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    assert read_skill(home) == before


def test_a_link_within_the_folder_is_followed_and_no_other(home: Path) -> None:
    (home / "copy.md").symlink_to("empty.md")
    assert any(file.path == "copy.md" for file in read_companions(home).files)
    Path("outside.md").touch()
    links = {"out.md": "../outside.md", "all": "scripts", "gone.md": "/nowhere", "lost.md": "no.md"}
    for name, target in links.items():
        link = home / name
        link.symlink_to(target)
        with pytest.raises(DataError, match=name) as caught:
            read_companions(home)
        assert caught.value.hint
        assert (name == "lost.md") == ("link to nothing" in caught.value.message)
        link.unlink()


def test_a_long_text_is_held_and_too_much_is_refused(home: Path) -> None:
    (home / "long.txt").write_text("x" * (LONGEST_TEXT + 1), encoding="utf-8")
    assert next(f for f in read_companions(home).files if f.path == "long.txt").text is None
    for number in range(5):
        (home / f"{number}.txt").write_text("x" * LONGEST_TEXT, encoding="utf-8")
    with pytest.raises(DataError, match="characters"):
        read_companions(home)
    for number in range(5):
        (home / f"{number}.txt").unlink()
    with (home / "huge.bin").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(DataError, match="bytes"):
        read_companions(home)
    (home / "huge.bin").unlink()
    for number in range(201):
        (home / f"{number}.txt").touch()
    with pytest.raises(DataError, match="more than 200 files") as caught:
        read_companions(home)
    assert "move" in caught.value.hint


@pytest.mark.parametrize(
    ("editable", "said"),
    [
        ("scripts/sya.py", "names `scripts/sya.py`, which is no text file"),
        ("scripts", "names `scripts`"),
        ("../x", "leads out of the skill folder"),
        ("logo.png", "names `logo.png`, which is no text file"),
        ("script/*.py", "matches no text file of .*: script/\\*.py"),
    ],
)
def test_a_wish_that_does_not_fit_the_folder_is_refused(
    home: Path, editable: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        seed_skill(EnvConfig(skill_init=str(home), editable=(editable,)), "")
    assert caught.value.hint
    if editable == "scripts":
        assert "scripts/**" in caught.value.hint
    if editable == "script/*.py":
        assert "`scripts/x.py`" in caught.value.hint


def test_a_glob_that_matches_no_file_is_named_with_the_files_there(home: Path) -> None:
    skill = read_skill(home, ("SKILL.md", "script/*.py"))
    (notice,) = skill_notices([skill])
    assert notice.where == "skill"
    assert notice.reason.startswith(
        "`script/*.py` in `env.editable` matches no file of the skill folder, so only a new file"
        " can be written there; text files beside SKILL.md: `"
    )
    assert "`scripts/x.py`" in notice.reason and "\n" not in notice.reason
    assert not skill_notices([read_skill(home, ("SKILL.md", "scripts/*.py"))])


def test_what_may_be_changed_is_its_text_unless_told_otherwise(home: Path) -> None:
    plain = seed_skill(EnvConfig(skill_init=str(home)), "")
    assert plain.folder is not None and plain.folder.editable == ("SKILL.md",)
    told = seed_skill(EnvConfig(skill_init=str(home), editable=("./scripts/*.py",)), "")
    assert told.folder is not None and told.folder.editable == ("scripts/*.py",)
    assert told.digest == plain.digest


@pytest.mark.parametrize("settings", [{}, {"from_scratch": True}, {"skill_init": "mine/SKILL.md"}])
def test_editable_needs_a_folder(home: Path, settings: dict[str, object]) -> None:
    with pytest.raises(SkillOptError, match="the skill is no folder"):
        seed_skill(EnvConfig.model_validate({**settings, "editable": ["SKILL.md"]}), "# Shipped\n")


def test_the_file_alone_is_what_it_was(home: Path) -> None:
    assert read_skill(home / "SKILL.md") == SkillDocument(TEXT)
    assert replace(read_skill(home), folder=None) == SkillDocument(TEXT)


@pytest.mark.parametrize(
    ("after", "lost"),
    [
        ("Read [it](scripts/x.py).", ()),
        ("Read ./scripts/x.py.", ()),
        ("Read nothing.", ("scripts/x.py",)),
        ("Read other/scripts/x.py or scripts/x.pyc.", ("scripts/x.py",)),
    ],
)
def test_a_file_is_no_longer_named_where_no_text_holds_its_path(
    home: Path, after: str, lost: tuple[str, ...]
) -> None:
    folder = read_skill(home).folder
    assert folder is not None
    assert no_longer_named(folder, "See `scripts/x.py`, not logo", after) == lost
    elsewhere = folder.with_text("empty.md", "Run scripts/x.py.")
    assert no_longer_named(elsewhere, "See `scripts/x.py`.", after) == ()
