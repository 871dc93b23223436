"""A run as a process of its own, which neither waits for the page nor ends with it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from skillopt_cli.compose.flags import in_form
from skillopt_cli.core.errors import DataError, SkillOptError
from skillopt_cli.core.regular import open_regular, read_regular
from skillopt_cli.store.files import EVENTS
from skillopt_cli.store.lock import LOCK_FILE
from skillopt_cli.ui.printed import last_error, printed_since
from skillopt_cli.web.form import SOURCE

LOG = "console.log"
"""In the run folder: what the process printed."""
PATIENCE = 60.0
"""Seconds a process has to state its first fact, or to say why it cannot."""
_LOOK = 0.05


def launch(arguments: Sequence[str], folder: Path) -> None:
    """Start `skillopt` on a run folder, a new one or one to take up, and see its first fact.

    What it prints is kept in the folder.

    Raises:
        SkillOptError: it ended before that, in its own words; or there is no first fact yet.
        DataError: nothing can be written there.
    """
    try:
        log = _log_of(folder)
        began = log.stat().st_size
        with open_regular(log, "ab") as output:
            known = _facts(folder)
            process = subprocess.Popen(
                [sys.executable, "-m", "skillopt_cli", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise DataError(
            f"{error.filename or folder} cannot be used: {error.strerror or error}",
            "check the path and its permissions",
        ) from error
    # Somebody must wait for it, else what is left of it stays in the system's list.
    Thread(target=process.wait, daemon=True).start()
    end = time.monotonic() + PATIENCE
    while not _at_work(process.pid, folder, known):
        if process.poll() is None and time.monotonic() < end:
            time.sleep(_LOOK)
        elif process.poll() is None:
            raise SkillOptError(
                f"process {process.pid} has not begun its run after {PATIENCE:g} s",
                f"it may still do so and be listed then; {log} holds what it printed",
            )
        # A short run may have begun and ended between two looks.
        elif not _at_work(process.pid, folder, known):
            raise _ended(process.returncode, log, began, folder)
    if log.parent != folder:
        log.rename(folder / LOG)


def _log_of(folder: Path) -> Path:
    """Where the output goes: into the folder, or beside it as long as there is none.

    A new run makes its folder itself, and refuses one that is there.
    """
    if folder.is_dir():
        (folder / LOG).touch()
        return folder / LOG
    root = folder.parent.parent
    root.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".starting-", suffix=".log", dir=root)
    os.close(handle)
    return Path(name)


def _at_work(pid: int, folder: Path, known: int) -> bool:
    """Whether this process, and no other, has stated a fact."""
    with suppress(OSError):
        # A run that has ended holds no lock any more, and is named by it still.
        named = read_regular(folder / LOCK_FILE).strip()
        return named == str(pid).encode() and _facts(folder) > known
    return False


def _facts(folder: Path) -> int:
    """How long the event log is, in bytes."""
    with suppress(OSError):
        return (folder / EVENTS).stat().st_size
    return 0


def _ended(code: int, log: Path, began: int, folder: Path) -> SkillOptError:
    """Why a process ended before its run began."""
    text = printed_since(log, began)
    if log.parent != folder:
        log.unlink()
    if (error := last_error(text)) is not None:
        # It was told to a shell, and is shown beside fields.
        said = error.message.replace("flag --set", SOURCE)
        return SkillOptError(said, in_form(error.hint))
    last = " ".join(text.split()[-40:]) or "nothing"
    return SkillOptError(f"the run ended before it began, with code {code}", f"it printed: {last}")
