"""Digests of large files are computed once per state of a file, and kept safely."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path

import pytest

from skillopt_cli.backends.chat import file_digests
from skillopt_cli.backends.chat.file_digests import file_digest, keep_digest


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights")
    return path


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "digests.json"


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read in full so far."""
    found: list[str] = []
    whole = hashlib.file_digest

    def counted(file, name):
        found.append(Path(file.name).name)
        return whole(file, name)

    monkeypatch.setattr(file_digests.hashlib, "file_digest", counted)
    return found


def test_a_file_is_read_once(model, kept, readings) -> None:
    assert [file_digest(model, kept) for _ in range(3)] == [sha256(b"weights")] * 3
    assert readings == ["model.gguf"]


def test_a_file_that_was_just_written_is_not_read_again(model, kept, readings) -> None:
    keep_digest(model, sha256(b"weights"), kept)
    assert file_digest(model, kept) == sha256(b"weights")
    assert readings == []


def other_content(model: Path) -> None:
    model.write_bytes(b"WEIGHTS")


def other_content_with_the_old_times(model: Path) -> None:
    before = model.stat()
    model.write_bytes(b"WEIGHTS")
    os.utime(model, ns=(before.st_atime_ns, before.st_mtime_ns))


def another_file_in_its_place(model: Path) -> None:
    before = model.stat()
    draft = model.with_name("draft")
    draft.write_bytes(b"WEIGHTS")
    os.utime(draft, ns=(before.st_atime_ns, before.st_mtime_ns))
    draft.replace(model)


def more_content(model: Path) -> None:
    model.write_bytes(b"WEIGHTS and more")


@pytest.mark.parametrize(
    "change",
    [
        other_content,
        other_content_with_the_old_times,
        another_file_in_its_place,
        more_content,
    ],
)
def test_a_changed_file_is_read_again(model, kept, readings, change) -> None:
    file_digest(model, kept)
    before = model.stat()
    while True:  # a file system's clock may tick seldom
        change(model)
        now = model.stat()
        if (now.st_ctime_ns, now.st_ino) != (before.st_ctime_ns, before.st_ino):
            break
    assert file_digest(model, kept) == sha256(model.read_bytes()) != sha256(b"weights")
    assert readings == ["model.gguf"] * 2


def test_the_kept_digests_are_for_their_owner_alone(model, kept) -> None:
    before = os.umask(0)
    try:
        file_digest(model, kept)
    finally:
        os.umask(before)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [path.name for path in kept.parent.iterdir()] == ["digests.json"]


def forge(model: Path, kept: Path) -> None:
    entries = json.loads(kept.read_text(encoding="utf-8"))
    entries[str(model)]["sha256"] = "0" * 64
    kept.write_text(json.dumps(entries), encoding="utf-8")


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_kept_digests_that_others_can_write_are_not_believed(model, kept, mode) -> None:
    file_digest(model, kept)
    forge(model, kept)
    assert file_digest(model, kept) == "0" * 64, "it is believed as long as only its owner writes"
    kept.chmod(mode)
    assert file_digest(model, kept) == sha256(b"weights")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file away")
def test_kept_digests_of_another_user_are_not_believed(model, kept) -> None:
    file_digest(model, kept)
    forge(model, kept)
    os.chown(kept, 12345, 12345)
    assert file_digest(model, kept) == sha256(b"weights")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"x": 1}', b"\xff", b"[" * 100_000, b" " * 2_000_000]
)
def test_damaged_notes_are_written_anew(model, kept, readings, content) -> None:
    kept.parent.mkdir()
    kept.write_bytes(content)
    kept.chmod(0o600)
    for _ in range(2):
        assert file_digest(model, kept) == sha256(b"weights")
    assert readings == ["model.gguf"]


def test_a_pipe_in_place_of_the_notes_blocks_nothing(model, kept) -> None:
    kept.parent.mkdir()
    os.mkfifo(kept)
    assert file_digest(model, kept) == sha256(b"weights")
    assert kept.is_file()


def test_where_nothing_can_be_kept_the_file_is_read_each_time(model, kept, readings) -> None:
    kept.parent.write_text("no folder", encoding="utf-8")
    assert [file_digest(model, kept) for _ in range(2)] == [sha256(b"weights")] * 2
    assert readings == ["model.gguf"] * 2


def test_digests_of_files_that_are_gone_are_dropped(model, kept, tmp_path) -> None:
    file_digest(model, kept)
    other = tmp_path / "other.gguf"
    other.write_bytes(b"other")
    model.unlink()
    file_digest(other, kept)
    assert list(json.loads(kept.read_text(encoding="utf-8"))) == [str(other)]


def test_a_file_that_is_none_is_refused(tmp_path, kept) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "nowhere", tmp_path / "pipe", tmp_path):
        with pytest.raises(OSError):
            file_digest(path, kept)
