"""How much one program may take of the machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of one program.

    Attributes:
        output: bytes kept of each stream; of a longer one, beginning and end.
        disk: bytes a stream may reach before the program is killed.
        workspace: bytes its workspace, HOME and TMPDIR may hold together, and a single file of it.
        processes: how many of its processes may live at a time.
        threads: how many threads, with those of all processes counted, the system allows it, where
            it counts them for one program alone: in a namespace, and not for root.
        grace: seconds between the request to stop and the kill.
    """

    output: int = 4_000_000
    disk: int = 256_000_000
    workspace: int = 1_000_000_000
    processes: int = 512
    threads: int = 4096
    grace: float = 2.0


def megabytes(size: int) -> str:
    """A size for people."""
    return f"{size / 1e6:g} MB"
