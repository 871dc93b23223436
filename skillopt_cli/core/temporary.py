"""How temporary folders are named, so that what a killed process left can be told from the rest."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from functools import cache
from pathlib import Path

_NAME = re.compile(r"skillopt-(\d+)-([0-9a-f]{8})-")


def own_prefix() -> str:
    """With what the names of this process's temporary folders begin."""
    return f"skillopt-{os.getpid()}-{_here()}-"


def maker(name: str) -> int | None:
    """The process that made a temporary folder of that name; None where it cannot be asked after.

    A process of another machine or container, which may share the folder for temporary files,
    cannot be seen from here.
    """
    found = _NAME.match(name)
    return int(found[1]) if found and found[2] == _here() else None


@cache
def _here() -> str:
    """Where process numbers mean what they mean here: the machine and its list of processes."""
    try:
        processes = str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # not Linux
        processes = ""
    return hashlib.sha256(f"{platform.node()} {processes}".encode()).hexdigest()[:8]
