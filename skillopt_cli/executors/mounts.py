"""What a namespace shows of this machine, as bubblewrap's arguments."""

from __future__ import annotations

import os
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

_SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix/store")
_SETTINGS = (
    "alternatives",
    "ca-certificates.conf",
    "group",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "nsswitch.conf",
    "passwd",
    "pki/ca-trust",
    "pki/tls/certs",
    "protocols",
    "resolv.conf",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
)
"""What of /etc is shown: nothing that holds a secret."""
_MACHINE = ("acpi", "bus", "fs", "irq", "scsi", "sys", "sysrq-trigger")
"""What of /proc sets the whole machine. It is root's, and root inside is root's equal."""
_SHARED_MEMORY = 64_000_000


@dataclass(frozen=True, slots=True)
class View:
    """What a program sees of the file system, each at its own place unless said otherwise.

    Attributes:
        reads: files and folders it may read, beyond the system's.
        writes: folders it may write.
        hidden: files and folders that are not shown although a folder around them is.
        placed: by path inside, what else is shown there, read-only.
        temporary: the folder that is /tmp inside.
    """

    reads: frozenset[Path]
    writes: tuple[Path, ...]
    hidden: frozenset[Path]
    placed: tuple[tuple[str, Path], ...]
    temporary: Path


def mount_arguments(view: View) -> list[str]:
    """The arguments that build the view, outer folders before what lies in them."""
    system = [Path("/", name) for name in (*_SYSTEM, *(f"etc/{name}" for name in _SETTINGS))]
    shown = {path: _shown(path) for path in system if path.exists()}
    for path in sorted(view.reads, key=_depth):
        if path.exists() and not _seen(path, {*shown, *view.writes}, view.hidden):
            shown[path] = _shown(path)
    for path in view.hidden:
        if path.exists() and path not in shown and _seen(path, {*shown}, frozenset()):
            shown[path] = _masked(path)
    shown[Path("/tmp")] = ["--bind", str(view.temporary), "/tmp"]
    for path in view.writes:
        shown[path] = ["--bind", str(path), str(path)]
    masked = [path for path in view.hidden if shown.get(path, [""])[0] == "--tmpfs"]
    ordered = sorted(shown, key=_depth)
    return [
        *(argument for path in ordered for argument in shown[path]),
        *(argument for place, path in view.placed for argument in _at(place, path)),
        *("--proc", "/proc"),
        *_machine_kept(),
        *("--dev", "/dev"),
        *("--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm"),
        *("--symlink", "/tmp", "/var/tmp"),
        # What bubblewrap made to hang all this on is memory, which nobody shall fill.
        *(word for path in [*masked, Path("/dev"), Path("/")] for word in _closed(path)),
    ]


def _machine_kept() -> list[str]:
    # Nobody else may write there; and over a /proc with covers the system allows no second one,
    # which a program's own sandbox wants.
    if os.geteuid() != 0:
        return []
    return [word for name in _MACHINE for word in ("--ro-bind-try", *[f"/proc/{name}"] * 2)]


def _depth(path: Path) -> tuple[int, str]:
    return len(path.parts), str(path)


def _seen(path: Path, shown: Set[Path], hidden: Set[Path]) -> bool:
    """Whether the nearest folder around `path` that is shown or hidden is shown."""
    for around in (path, *path.parents):
        if around in shown:
            return True
        if around in hidden:
            return False
    return False


def _shown(path: Path) -> list[str]:
    # A link within the system, or of a program's, must stay one: programs look where they are.
    if path.is_symlink() and not path.is_relative_to("/etc"):
        return ["--symlink", str(path.readlink()), str(path)]
    return ["--ro-bind-try", str(path), str(path)]


def _masked(path: Path) -> list[str]:
    if path.is_dir():
        return ["--tmpfs", str(path)]
    return ["--ro-bind", "/dev/null", str(path)]


def _at(place: str, path: Path) -> list[str]:
    return ["--ro-bind", str(path), place]


def _closed(path: Path) -> list[str]:
    return ["--remount-ro", str(path)]
