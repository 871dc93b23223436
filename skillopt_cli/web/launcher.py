"""Starts a run as a process that is independent of the web server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from skillopt_cli.compose.flags import in_form
from skillopt_cli.compose.own_tasks import ARGUMENT
from skillopt_cli.compose.run_privileges import programs_started
from skillopt_cli.compose.settings import Overrides, acting_roles
from skillopt_cli.config.environment import process_environment
from skillopt_cli.config.layers import Resolved
from skillopt_cli.core.errors import DataError, SkillOptError, UsageError
from skillopt_cli.permissions import FOLDER_MODES, adopt, make_folder, open_file
from skillopt_cli.safe_files import open_regular, read_regular
from skillopt_cli.store.layout import EVENTS
from skillopt_cli.store.lock import LOCK_FILE
from skillopt_cli.ui.error_text import last_error, printed_since
from skillopt_cli.web.form import SOURCE
from skillopt_cli.web.token import VARIABLE

LOG = "console.log"
"""File of the run folder with the output of the process."""
PATIENCE = 60.0
"""Seconds until the first fact or the error of a new process."""
_POLL = 0.05
_GIVEN = re.compile(rf"flag --[a-z-]+|{ARGUMENT}")
"""Where the settings of a new process come from, in its messages."""


def refuse_programs(
    overrides: Overrides, resolved: Resolved, environment: Mapping[str, str]
) -> None:
    """Refuse a run that starts programs, on a page that every user of this machine can use.

    Raises:
        UsageError: it would.
    """
    roles = acting_roles(overrides, resolved.config)
    if started := programs_started(resolved, environment, roles):
        raise UsageError(
            "this page asks for no token, so it starts no run with programs, which this one has: "
            f"{' and '.join(started)}",
            "start `skillopt webui` without --no-token",
        )


def launch(arguments: Sequence[str], folder: Path) -> None:
    """Start `skillopt` on a new or an existing run folder, and wait for its first fact.

    Its output is stored in the folder.

    Raises:
        SkillOptError: it ended before that, with its own message; or there is no fact in time.
        DataError: the folder cannot be written.
    """
    try:
        log = _log_of(folder)
        began = log.stat().st_size
        with open_regular(log, "ab") as output:
            known = _facts(folder)
            process = subprocess.Popen(
                # Without -P, a module of the working folder could be taken for one of ours.
                [sys.executable, "-P", "-m", "skillopt_cli", *arguments],
                # Whoever reads the variables of the run is not to have the page as well.
                env={k: v for k, v in process_environment().items() if k != VARIABLE},
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
    # Waits for the process, which would otherwise remain as a zombie.
    Thread(target=process.wait, daemon=True).start()
    end = time.monotonic() + PATIENCE
    while not _at_work(process.pid, folder, known):
        if process.poll() is None and time.monotonic() < end:
            time.sleep(_POLL)
        elif process.poll() is None:
            raise SkillOptError(
                f"process {process.pid} has not started its run after {PATIENCE:g} s",
                f"the list shows it once it starts; {log} holds its output",
            )
        # A short run may have started and ended between two polls.
        elif not _at_work(process.pid, folder, known):
            raise _ended(process.returncode, log, began, folder)
    if log.parent != folder:
        adopt(log.rename(folder / LOG))


def _log_of(folder: Path) -> Path:
    """The log of the process: in the folder, or beside it until the run has created it.

    A new run creates its folder itself, and refuses an existing one.
    """
    if folder.is_dir():
        os.close(open_file(folder / LOG, os.O_WRONLY | os.O_CREAT))
        return folder / LOG
    root = folder.parent.parent
    make_folder(root, FOLDER_MODES["owner"])
    handle, name = tempfile.mkstemp(prefix=".starting-", suffix=".log", dir=root)
    os.close(handle)
    return Path(name)


def _at_work(pid: int, folder: Path, known: int) -> bool:
    """Whether this process, and no other, has written a fact."""
    with suppress(OSError):
        # The lock file still names a run that has ended.
        run_name = read_regular(folder / LOCK_FILE).strip()
        return run_name == str(pid).encode() and _facts(folder) > known
    return False


def _facts(folder: Path) -> int:
    """Size of the event log in bytes."""
    with suppress(OSError):
        return (folder / EVENTS).stat().st_size
    return 0


def _ended(code: int, log: Path, began: int, folder: Path) -> SkillOptError:
    """The error of a process that ended before its run started."""
    text = printed_since(log, began)
    if log.parent != folder:
        log.unlink()
    if (error := last_error(text)) is not None:
        # The message speaks of flags; the page shows it beside the form's fields.
        message = _GIVEN.sub(SOURCE, error.message)
        return SkillOptError(message, in_form(error.hint))
    last = " ".join(text.split()[-40:]) or "nothing"
    return SkillOptError(f"the run ended before it began, with code {code}", f"it printed: {last}")
