"""Checks of the folders a run writes: outputs, disk, journal, and runs that were left behind."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from skillopt_cli.config import RunConfig
from skillopt_cli.config.section import is_address
from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.core.formatting import count
from skillopt_cli.doctor.check import Check, failing, passed, warning
from skillopt_cli.runlog.run_log import read_view
from skillopt_cli.safe_files import open_regular
from skillopt_cli.store.entries import open_entries
from skillopt_cli.store.journal import Journal
from skillopt_cli.store.layout import EVAL_PLAN, EVENTS, JOURNAL
from skillopt_cli.store.lock import LOCK_FILE, lock_holder

SCARCE, TOO_LITTLE = 1_000_000_000, 100_000_000
"""Free bytes below which a disk is worth a warning, and below which a run may not end."""
NEWEST = 200
"""Run folders that are looked at."""
_LAST_BYTES = 65536


def check_outputs(config: RunConfig) -> Iterator[Check]:
    """Run folders can be made, and there is room for them."""
    root = Path(config.env.out_root)
    reason = unwritable(root)
    if reason:
        error = DataError(f"{root} cannot be written: {reason}")
        yield failing("outputs", error, "correct its permissions, or add `env.out_root=FOLDER`")
        return
    yield passed("outputs", f"{root} can be written")
    free = shutil.disk_usage(existing(root)).free
    what = f"{free / 1e9:.1f} GB free at {root}"
    if free < TOO_LITTLE:
        yield failing("disk", DataError(what), "free disk space, or add `env.out_root=FOLDER`")
    elif free < SCARCE:
        yield warning("disk", what, "free disk space, or add `env.out_root=FOLDER`")
    else:
        yield passed("disk", what)


def check_journal(config: RunConfig) -> Iterator[Check]:
    """A shared cache can be used."""
    place = config.run.cache_dir
    if not place:
        yield passed("journal", "each run keeps its own")
        return
    if is_address(place):
        yield _check_objects(place)
        return
    folder = Path(place)
    if reason := unwritable(folder):
        error = DataError(f"run.cache_dir {folder} cannot be written: {reason}")
        yield failing("journal", error, "correct its permissions, or add `run.cache_dir=FOLDER`")
        return
    if (path := folder / JOURNAL).is_file():
        with Journal(path) as journal:
            yield passed("journal", f"{path} holds {count(len(journal.call_keys()), 'call')}")
    will = "can be written" if folder.exists() else "will be made"
    yield passed("journal", f"run.cache_dir {folder} {will}")


def _check_objects(place: str) -> Check:
    """Whether an object store takes an entry and gives it back."""
    try:
        entries = open_entries(place)
        entries.write("probe", b"probe")
        if entries.read("probe") != b"probe":
            raise DataError(f"{place} does not give back what was written")
    except (ConfigError, DataError) as error:
        fix = error.hint or "correct its address, or the credentials in your environment"
        return failing("journal", error, fix)
    return passed("journal", f"run.cache_dir {place} can be written")


def check_runs(config: RunConfig) -> Iterator[Check]:
    """Runs that another process writes, and runs whose process died: a lock goes with its owner."""
    folders = sorted(
        (lock.parent for lock in Path(config.env.out_root).glob(f"*/*/{LOCK_FILE}")),
        key=lambda folder: folder.stat().st_mtime,
    )[-NEWEST:]
    held = {folder: owner for folder in folders if (owner := lock_holder(folder)) is not None}
    dead = [folder for folder in folders if folder not in held and _deserted(folder)]
    for folder in dead:
        yield warning("runs", f"{folder} was left without an ending", _remedy(folder))
    for folder, owner in held.items():
        yield passed("runs", f"{folder} is in use by process {owner}")
    if not (dead or held):
        yield passed(
            "runs", f"none under {config.env.out_root} is in use or left without an ending"
        )


def _remedy(folder: Path) -> str:
    """What to do about a run whose process died; neither an evaluation nor a replay is resumed."""
    with suppress(DataError):  # the command reports it
        view = read_view(folder)
        if view.run and not view.run.total_steps and not (folder / EVAL_PLAN).is_file():
            return f"run `skillopt eval` again, and remove {folder}"
        if view.run and view.run.replay:
            return f"begin the replay again, and remove {folder}"
    return f"skillopt resume {shlex.quote(str(folder))}"


def existing(path: Path) -> Path:
    """The path itself or the nearest folder above it that exists."""
    path = path.absolute()
    return next(place for place in (path, *path.parents) if place.exists())


def unwritable(folder: Path) -> str:
    """Why no file can be made in a folder, or in what it would be made in; "" when one can."""
    place = existing(folder)
    if not place.is_dir():
        return f"{place} is a file"
    try:
        # Tried rather than asked: a full or read-only disk shows in no permission.
        with TemporaryFile(dir=place):
            return ""
    except OSError as error:
        return (error.strerror or str(error)).lower()


def _deserted(folder: Path) -> bool:
    """Whether the last fact of a training's log is not an ending."""
    try:
        with open_regular(folder / EVENTS) as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _LAST_BYTES))
            lines = file.read().splitlines()
        kind = json.loads(lines[-1])["event"]["kind"] if lines else ""
    except (OSError, ValueError, LookupError, TypeError):
        return (folder / EVENTS).exists()
    return kind not in ("", "run_finished", "run_failed")
