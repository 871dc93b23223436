"""The token of the page: where it comes from, and the file that opens a browser with it."""

from __future__ import annotations

import html
import os
import re
import secrets
import socket
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from skillopt_cli.config.environment import user_folder
from skillopt_cli.core.errors import UsageError
from skillopt_cli.permissions import OWNER_ONLY, make_folder
from skillopt_cli.safe_files import open_regular
from skillopt_cli.web.security import TOKEN

VARIABLE = "SKILLOPT_WEBUI_TOKEN"
SHORTEST = 16
_LONGEST = 1000
_MADE_OF = re.compile(rf"[!-~]{{{SHORTEST},{_LONGEST}}}")
# A password, which browsers do not write into the session that they restore.
_LOGIN_FILE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<title>skillopt</title>
<form action="{address}" method="post">
<input type="password" name="{field}" value="{token}" autocomplete="off" hidden>
<button>Open the page</button>
</form>
<script>document.forms[0].submit();</script>
</html>
"""


def find_token(file: Path | None, environment: Mapping[str, str]) -> str:
    """The token that the file holds, else the variable; a random one if there is neither.

    Raises:
        UsageError: the file cannot be read, or others can read it; or the token is too short.
    """
    if file is not None:
        found, source = _read_private(file), str(file)
    elif environment.get(VARIABLE, "").strip():
        found, source = environment[VARIABLE], f"the variable {VARIABLE}"
    else:
        return secrets.token_urlsafe(32)
    token = found.strip()
    if not _MADE_OF.fullmatch(token):
        raise UsageError(
            f"{source} holds no token: one has at least {SHORTEST} letters, digits or signs, and "
            "no spaces",
            "make one with `openssl rand -hex 16`, or give none: the page makes its own",
        )
    return token


def _read_private(path: Path) -> str:
    """The text of a file that nobody but its owner can read.

    Raises:
        UsageError: it cannot be read, or others can read it too.
    """
    try:
        with open_regular(path) as file:
            found = os.fstat(file.fileno())
            text = file.read(_LONGEST + 2)
    except OSError as error:
        raise UsageError(
            f"cannot read the token file {path}: {error.strerror}", "check --token-file"
        ) from error
    if found.st_uid not in (os.geteuid(), 0) or stat.S_IMODE(found.st_mode) & 0o077:
        raise UsageError(
            f"the token file {path} can be read by others than you",
            f"`chmod 600 {path}`, and take a new token if other people use this machine",
        )
    return text.decode("latin-1")


@contextmanager
def login_file(address: str, token: str) -> Iterator[Path]:
    """A file that opens the page in a browser, while the block lasts.

    It posts the token, so that no address and no command line contains it. It lies in the user's
    state folder, and only its owner can read it.

    Raises:
        UsageError: the folder cannot be used.
    """
    text = _LOGIN_FILE.format(address=html.escape(address), field=TOKEN, token=html.escape(token))
    host = socket.gethostname()
    path = _state_folder() / f"webui-{host}-{os.getpid()}.html"
    try:
        _remove_leftovers(path.parent, host)
        # New, so that it is ours alone from its first byte on.
        path.unlink(missing_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise _unusable(path.parent, str(error.strerror)) from error
    try:
        yield path
    finally:
        with suppress(OSError):
            path.unlink()


def _state_folder() -> Path:
    """The user's state folder, made for its owner alone.

    Raises:
        UsageError: there is none, it cannot be made, or it is somebody else's.
    """
    folder = user_folder("state")
    if folder is None:
        raise _unusable(Path("~"), "you have no home")
    try:
        with suppress(FileExistsError):
            make_folder(folder, 0o700)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise _unusable(folder, "it is not a folder of yours")
        folder.chmod(0o700)
    except OSError as error:
        raise _unusable(folder, str(error.strerror)) from error
    return folder


def _unusable(folder: Path, reason: str) -> UsageError:
    return UsageError(
        f"the file that opens the page cannot be kept in {folder}: {reason}",
        "name a folder of yours in the variable XDG_STATE_HOME",
    )


def _remove_leftovers(folder: Path, host: str) -> None:
    """Remove the files of servers on this machine that were killed."""
    for path in folder.glob(f"webui-{host}-*.html"):
        pid = path.stem.rpartition("-")[2]
        if pid.isdecimal() and not psutil.pid_exists(int(pid)):
            path.unlink(missing_ok=True)
