"""The file system inside the sandbox, as bubblewrap's arguments."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from skillopt_cli.safe_files import open_regular

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
"""Visible parts of /etc, none of which holds a secret."""
_MACHINE = ("acpi", "bus", "fs", "irq", "scsi", "sys", "sysrq-trigger")
"""Parts of /proc that configure the machine, which root inside the sandbox could write."""
_KEYS = ("/proc/keys", "/proc/key-users")
"""Lists of all keys of a user, whose names show where somebody signs in."""
_SHARED_MEMORY = 64_000_000
_PACKAGES = ("site-packages", "dist-packages")
_PARTS = ("bin", "lib", "lib64", "libexec", "pyvenv.cfg")
"""Parts of an installation folder that a program needs; the folder itself may be a home."""
_HOPS = 40


@dataclass(frozen=True, slots=True)
class MountPlan:
    """The files that a program sees, each at its own path unless noted.

    Attributes:
        reads: files and folders it may read, besides the system's.
        writes: folders it may write.
        hidden: files and folders that are invisible although a parent folder is visible.
        placed: further read-only files by their path inside.
        temporary: the folder that is /tmp inside.
    """

    reads: frozenset[Path]
    writes: tuple[Path, ...]
    hidden: frozenset[Path]
    placed: tuple[tuple[str, Path], ...]
    temporary: Path


def mount_arguments(plan: MountPlan) -> list[str]:
    """Return the arguments for a mount plan, parent folders first."""
    system = [Path("/", name) for name in (*_SYSTEM, *(f"etc/{name}" for name in _SETTINGS))]
    shown = {path: _shown(path) for path in system if path.exists()}
    for path in sorted(plan.reads, key=_depth):
        if path.exists() and not _seen(path, {*shown, *plan.writes}, plan.hidden):
            shown[path] = _shown(path)
    for path in plan.hidden:
        if path.exists() and path not in shown and _seen(path, {*shown}, frozenset()):
            shown[path] = _masked(path)
    shown[Path("/tmp")] = ["--bind", str(plan.temporary), "/tmp"]
    for path in plan.writes:
        shown[path] = ["--bind", str(path), str(path)]
    masked = [path for path in plan.hidden if shown.get(path, [""])[0] == "--tmpfs"]
    ordered = sorted(shown, key=_depth)
    return [
        *(argument for path in ordered for argument in shown[path]),
        *(word for place, path in plan.placed for word in ("--ro-bind", str(path), place)),
        *("--proc", "/proc"),
        *_kept_from_programs(),
        *("--dev", "/dev"),
        *("--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm"),
        *("--symlink", "/tmp", "/var/tmp"),
        # The mount points themselves are in memory, which a program must not fill.
        *(word for path in [*masked, "/dev", "/"] for word in ("--remount-ro", str(path))),
    ]


def _kept_from_programs() -> Iterator[str]:
    """Yield arguments that cover parts of /proc."""
    for path in _KEYS:
        if Path(path).exists():
            yield from ("--ro-bind", os.devnull, path)
    # Others may not write there anyway.
    if os.geteuid() == 0:
        for name in _MACHINE:
            yield from ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")


def _depth(path: Path) -> tuple[int, str]:
    return len(path.parts), str(path)


def _seen(path: Path, shown: Set[Path], hidden: Set[Path]) -> bool:
    """Whether the nearest visible or hidden folder around `path` is visible."""
    for around in (path, *path.parents):
        if around in shown:
            return True
        if around in hidden:
            return False
    return False


def _shown(path: Path) -> list[str]:
    # A link must stay one, since programs look at their own path.
    if path.is_symlink() and not path.is_relative_to("/etc"):
        return ["--symlink", str(path.readlink()), str(path)]
    return ["--ro-bind-try", str(path), str(path)]


def _masked(path: Path) -> list[str]:
    if path.is_dir():
        return ["--tmpfs", str(path)]
    return ["--ro-bind", "/dev/null", str(path)]


def needed_by(program: Path, search: str) -> frozenset[Path]:
    """Return files and folders of the installations of a program and its interpreters.

    A program in a folder `bin` needs the neighbouring `lib` and so on; one inside an installed
    Python or Node package needs the package; any other needs only its own file.

    Args:
        program: an absolute path.
        search: the search path for a `#!/usr/bin/env` line.
    """
    found = set[Path]()
    waiting, seen = [program], set[Path]()
    while waiting:
        file = waiting.pop()
        if file in seen or len(seen) > _HOPS:
            continue
        seen.add(file)
        found.update(_installation(file))
        if file.is_symlink():
            waiting.append(Path(os.path.normpath(file.parent / file.readlink())))
            waiting.append(file.resolve())
        elif interpreter := _interpreter(file, search):
            waiting.append(interpreter)
    return frozenset(found)


def parts_of(prefix: Path) -> Iterator[Path]:
    """Yield the parts of an installation with a folder `bin` that its programs need."""
    for name in _PARTS:
        if (prefix / name).exists():
            yield prefix / name


def _installation(file: Path) -> Iterator[Path]:
    yield file
    for folder in reversed(file.parents):
        if folder.name == "node_modules" or folder.parent.name in _PACKAGES:
            yield folder
            return
    if file.parent.name == "bin":
        yield from parts_of(file.parent.parent)


def _interpreter(file: Path, search: str) -> Path | None:
    """Return the interpreter in the first line of a script; None without one."""
    try:
        with open_regular(file) as opened:
            line = opened.readline(512)
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    words = line[2:].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        names = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        found = shutil.which(names[0], path=search) if names else None
        return Path(found) if found else None
    return Path(words[0]) if words and Path(words[0]).is_absolute() else None
