"""What is written in a folder that is closed to others is closed to them too."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skillopt_cli.permissions import FOLDER_MODES, make_folder, open_file, opener, share


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
@pytest.mark.parametrize(
    ("shared_with", "folder", "file"),
    [
        ("owner", 0o700, 0o600),
        ("group", 0o750, 0o640),
    ],
)
def test_a_closed_folder_decides_whatever_the_umask(
    mask: int, shared_with: str, folder: int, file: int
) -> None:
    with umask(mask):
        make_folder(Path("a/b"), FOLDER_MODES[shared_with])
        make_folder(Path("a/b/c/d"))
        with open("a/b/c/f", "w", encoding="utf-8", opener=opener):
            pass
        os.close(open_file("g", os.O_CREAT | os.O_WRONLY, FOLDER_MODES[shared_with]))
    assert {mode(Path(name)) for name in ("a", "a/b", "a/b/c", "a/b/c/d")} == {folder}
    assert {mode(Path(name)) for name in ("a/b/c/f", "g")} == {file}


@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
def test_elsewhere_the_umask_decides(mask: int) -> None:
    with umask(0):
        Path("open").mkdir(0o755)
    with umask(mask):
        make_folder(Path("open/a"))
        with open("open/f", "w", encoding="utf-8", opener=opener):
            pass
    assert mode(Path("open/a")) == 0o777 & ~mask
    assert mode(Path("open/f")) == 0o666 & ~mask


def test_the_bit_that_passes_the_group_on_is_kept() -> None:
    with umask(0):
        Path("team").mkdir()
        Path("team").chmod(0o2755)
        make_folder(Path("team/run"), 0o750)
    assert mode(Path("team/run")) == 0o2750


def test_an_existing_folder_is_kept_or_refused() -> None:
    Path("a").mkdir(0o755)
    make_folder(Path("a"), 0o700)
    assert mode(Path("a")) == 0o755
    with pytest.raises(FileExistsError):
        make_folder(Path("a"), 0o700, exist_ok=False)
    Path("f").touch()
    with pytest.raises(FileExistsError):
        make_folder(Path("f"), 0o700)


def test_a_file_opened_again_is_closed_as_well() -> None:
    make_folder(Path("a"), 0o700)
    Path("a/log").touch(0o644)
    with open("a/log", "a", encoding="utf-8", opener=opener):
        pass
    assert mode(Path("a/log")) == 0o600


def test_a_folder_is_shared_and_closed_with_all_in_it_but_what_links_lead_to() -> None:
    Path("mine").touch(0o644)
    Path("mine").chmod(0o644)
    Path("run/inner").mkdir(parents=True)
    for name in ("file", "inner/run.sh"):
        Path("run", name).touch()
    Path("run/inner/run.sh").chmod(0o755)
    Path("run/link").symlink_to("../mine")
    Path("run/folder").symlink_to("..", target_is_directory=True)
    Path("run/other_name").hardlink_to("mine")
    for wanted, file in ((0o700, 0o600), (0o750, 0o640), (0o700, 0o600)):
        share(Path("run"), wanted)
        assert [mode(Path("run", n)) for n in ("", "inner", "inner/run.sh")] == [wanted] * 3
        assert mode(Path("run/file")) == file
        assert mode(Path("mine")) == 0o644


def test_a_folder_that_is_as_it_should_be_is_not_walked() -> None:
    make_folder(Path("run"), 0o700)
    Path("run/mine").touch(0o644)
    Path("run/mine").chmod(0o644)
    share(Path("run"), 0o700)
    assert mode(Path("run/mine")) == 0o644
