"""A snapshot of the read model of a long log, so that readers fold only what was logged after it.

Folding a fact takes some 25 microseconds, and a run of a million attempts has two million facts.
The snapshot lies beside the log, holds nothing that the log does not, and is passed over when it is
not of this log or not of this version of the program.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any

from skillopt_cli.core.errors import DataError
from skillopt_cli.runlog.split_looks import SplitLooks
from skillopt_cli.runlog.view import RunView
from skillopt_cli.safe_files import open_regular
from skillopt_cli.store.atomic_files import replace_bytes
from skillopt_cli.store.layout import EVENTS, SNAPSHOT
from skillopt_cli.store.log_lines import last_line

FACTS = 100_000
"""Facts after which a new snapshot is due: about three seconds of folding."""
_LONGEST_HEAD = 1000
_OURS = ("skillopt_cli.core.", "skillopt_cli.runlog.")
_PLAIN = {("builtins", "frozenset"), ("fractions", "Fraction")}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The read model of the first part of a log.

    Attributes:
        size: bytes of that part, which ends with a line.
        facts: lines of it.
        number: of its last fact.
    """

    view: RunView
    size: int
    facts: int
    number: int


def write_snapshot(folder: Path, view: RunView, facts: int, number: int) -> None:
    """Keep the read model of the log as it is now.

    Raises:
        DataError: the disk is full or the folder not writable.
    """
    log = folder / EVENTS
    head = {
        "program": _program(),
        "size": log.stat().st_size,
        "facts": facts,
        "number": number,
        "last": _digest(last_line(log)),
    }
    # The looks come first, for those who read nothing else.
    body = pickle.dumps(view.looks, protocol=5) + pickle.dumps(view, protocol=5)
    replace_bytes(folder / SNAPSHOT, json.dumps(head).encode() + b"\n" + body)


def read_snapshot(folder: Path) -> Snapshot | None:
    """The snapshot of a log, None where there is none of this log and this version."""
    found = _values(folder, SplitLooks, RunView)
    if found is None:
        return None
    head, (_, view) = found
    return Snapshot(view, *head)


def read_looks(folder: Path) -> tuple[SplitLooks, int] | None:
    """The looks at the test split in the part of a log that has a snapshot, and its bytes.

    None where there is no snapshot of this log and this version.
    """
    found = _values(folder, SplitLooks)
    if found is None:
        return None
    (size, _, _), (looks,) = found
    return looks, size


def _values(folder: Path, *kinds: type) -> tuple[tuple[int, int, int], list[Any]] | None:
    """Size, facts and number of a snapshot, and its first values, which are of these classes."""
    try:
        with open_regular(folder / SNAPSHOT) as file:
            about = json.loads(file.readline(_LONGEST_HEAD))
            size, facts, number = (int(about[key]) for key in ("size", "facts", "number"))
            last = last_line(folder / EVENTS, size)
            if (about["program"], about["last"]) != (_program(), _digest(last)):
                return None
            values = [_Reader(file).load() for _ in kinds]
    # A damaged snapshot may raise anything; the log has all that it holds.
    except (OSError, DataError, LookupError, TypeError, ValueError, AttributeError):
        return None
    except (pickle.UnpicklingError, EOFError, ImportError, MemoryError, OverflowError):
        return None
    right = all(map(isinstance, values, kinds))
    return ((size, facts, number), values) if right else None


class _Reader(pickle.Unpickler):
    """Makes values of the read model and nothing else, since a stranger may have written a file."""

    def find_class(self, module: str, name: str) -> Any:
        """Find a class that a value of the read model may have.

        Raises:
            UnpicklingError: it is another.
        """
        if (module, name) in _PLAIN:
            return super().find_class(module, name)
        if module.startswith(_OURS) and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and (is_dataclass(found) or issubclass(found, tuple)):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a read model")


def _program() -> str:
    from skillopt_cli import __version__

    return __version__


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()
