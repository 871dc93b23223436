"""Where a run at work listens: a Unix socket in its folder, however long the folder's path is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillopt_cli.core.temporary import own_prefix

SOCKET = "control.sock"
_LONGEST = 100
"""Bytes of a path that every system takes for a socket."""


@contextmanager
def reachable(folder: Path) -> Iterator[str]:
    """A path of the folder's socket that is short enough, for the length of the block.

    Where the folder's own is too long, it leads through a link in a folder of ours.

    Raises:
        OSError: there is no such path.
    """
    direct = folder / SOCKET
    if len(os.fsencode(direct)) <= _LONGEST:
        yield str(direct)
        return
    with tempfile.TemporaryDirectory(prefix=own_prefix()) as short:
        link = Path(short, "run")
        link.symlink_to(folder.resolve(), target_is_directory=True)
        yield str(link / SOCKET)
