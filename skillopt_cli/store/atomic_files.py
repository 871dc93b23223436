"""Files and folders that are replaced at once: a reader sees the old or the new content."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from skillopt_cli.core.companion_files import SKILL_FILE
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.permissions import make_folder, opener
from skillopt_cli.skill_folder import write_companions

if TYPE_CHECKING:
    from skillopt_cli.core.skill import SkillDocument

_MARK_BYTES = 6


def inner_path(path: str) -> PurePosixPath:
    """`path` as a relative path that cannot leave a folder.

    Raises:
        ValueError: it is empty, absolute or has a part `..`.
    """
    inner = PurePosixPath(path)
    if inner.is_absolute() or not inner.parts or ".." in inner.parts or "\0" in path:
        raise ValueError(f"path {path!r} leaves the run folder")
    return inner


def check_vacant(out: Path) -> None:
    """Check where something is to be written that replaces nothing, before any work is done for it.

    Raises:
        UsageError: something is there, or the folder around it is not, or must not be written.
    """
    _refuse_folder(out)
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out} exists already", "choose another file with --out")
    _check_parent(out)


def check_replaceable(out: Path, *, force: bool) -> None:
    """Check where a file is to be written that replaces another one on request.

    Args:
        force: whether that was requested, by `--force`.

    Raises:
        UsageError: something is there that may not be replaced, or the folder around it is not, or
            must not be written.
    """
    _refuse_folder(out)
    if (out.exists() or out.is_symlink()) and not (force and out.is_file()):
        raise UsageError(
            f"{out} exists already", "choose another file with --out, or replace it with --force"
        )
    _check_parent(out)


def check_replaceable_folder(out: Path, *, force: bool) -> None:
    """Check where a skill folder is to be written that replaces another one on request.

    Args:
        force: whether that was requested, by `--force`.

    Raises:
        UsageError: something is there that is no skill folder or may not be replaced, the name is
            that of a Markdown file, or the folder around it is not, or must not be written.
    """
    if not out.is_dir() and out.suffix == ".md":
        raise UsageError(
            f"{out} names a file, and the skill is a folder",
            f"name a folder with --out, such as {out.with_suffix('')}",
        )
    if out.exists() or out.is_symlink():
        if out.is_symlink() or not (out / SKILL_FILE).is_file():
            raise UsageError(
                f"{out} exists already, and is no skill folder", "choose another folder with --out"
            )
        if not force:
            raise UsageError(
                f"{out} exists already",
                "choose another folder with --out, or replace it with --force",
            )
    _check_parent(out)


def _refuse_folder(out: Path) -> None:
    if out.is_dir():
        raise UsageError(f"{out} is a folder", "name a file in it with --out")


def _check_parent(out: Path) -> None:
    if not out.parent.is_dir():
        raise UsageError(
            f"{out} cannot be written: there is no folder {out.parent}",
            "make the folder, or choose another file with --out",
        )
    if not os.access(out.parent, os.W_OK):
        raise UsageError(
            f"{out} cannot be written: nothing may be written in the folder {out.parent}",
            "correct its permissions, or choose another file with --out",
        )


def replace_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Replace a file atomically: a reader sees the old text or the new one.

    Args:
        path: the file; missing folders are created.
        text: written as UTF-8, byte for byte; half a surrogate pair as its escape.
        durable: sync to disk, to survive a power cut.

    Raises:
        DataError: the disk is full or the folder not writable.
    """
    replace_bytes(path, text.encode(errors="backslashreplace"), durable=durable)


def replace_bytes(
    path: Path, data: bytes, *, durable: bool = False, drafts: Path | None = None
) -> None:
    """Replace a file atomically, as `replace_text` does.

    Args:
        drafts: the folder where it is written first, on the same disk; None for its own.
    """
    with write_errors(path):
        draft, _ = _drafts(drafts or path.parent)
        try:
            _replace(path, data, draft, durable=durable)
        except FileNotFoundError:
            make_folder(path.parent)
            _replace(path, data, draft, durable=durable)


def _replace(path: Path, data: bytes, draft: Path, *, durable: bool) -> None:
    try:
        with open(draft, "xb", opener=opener) as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    # Ctrl-C as well: nothing half written stays.
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if durable:
        _sync_folder(path.parent)


def replace_folder(path: Path, skill: SkillDocument, *, drafts: Path | None = None) -> None:
    """Replace a skill folder: a reader sees the old one, the new one, or for a moment none.

    Args:
        drafts: as of `replace_bytes`.

    Raises:
        DataError: it cannot be written, or a file of the skill changed since it was read.
    """
    draft, old = _drafts(drafts or path.parent)
    with write_errors(path):
        try:
            make_folder(path.parent)
            make_folder(draft)
            with open(draft / SKILL_FILE, "wb", opener=opener) as file:
                file.write(skill.text.encode(errors="backslashreplace"))
            if skill.folder is not None:
                write_companions(skill.folder, draft)
            if path.exists():
                path.rename(old)
            draft.rename(path)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)


def clear_drafts(folder: Path) -> None:
    """Remove what a killed process left half written in a run folder that is locked.

    Looks at the folder and those in it, but no deeper: a store writes the drafts of all files there
    first, and a long run has many folders.
    """
    for ending in ("tmp", "old"):
        name = f".{'[0-9a-f]' * 2 * _MARK_BYTES}.{ending}"
        for draft in (*folder.glob(name), *folder.glob(f"*/{name}")):
            if draft.is_dir() and not draft.is_symlink():
                shutil.rmtree(draft, ignore_errors=True)
            else:
                draft.unlink(missing_ok=True)


def _drafts(folder: Path) -> tuple[Path, Path]:
    """Unused names in a folder: for what is being written, and for what it replaces."""
    mark = secrets.token_hex(_MARK_BYTES)
    return folder / f".{mark}.tmp", folder / f".{mark}.old"


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Raise DataError with the path in place of an OSError of the body."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{path} cannot be written: {error.strerror or error}",
            "free disk space or fix the folder's permissions, then `skillopt resume` the run",
        ) from error
