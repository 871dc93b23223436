"""A privilege: something a run does beyond its own process, and its words for people."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from skillopt_cli.core.control_characters import without_controls

Kind = Literal["program", "endpoint", "cluster", "isolation", "folder"]
_LONGEST = 300
"""Characters of a text of a file that are shown."""
_TITLES: dict[Kind, str] = {
    "folder": "Run folder",
    "program": "Programs",
    "endpoint": "Keys",
    "cluster": "Cluster",
    "isolation": "Isolation",
}


@dataclass(frozen=True, slots=True)
class Privilege:
    """Something that a run does beyond its own process.

    Attributes:
        kind: program, a program that is started; endpoint, an address that is called, or a program
            that gets a key; cluster, machines on which attempts are made, whose head can run
            programs here; isolation, a weaker one of a program; folder, a run folder that another
            user wrote.
        what: the program with its arguments; the variable that holds the key, "" for none; the
            address of the cluster; what a program may read, "" for all; the folder.
        to: who gets the key; the program that is less isolated; who wrote the folder.
        setting: the key or the variable that names it.
        file: the file that gives its value; None where the user does.
        usual: whether it may be asked for by any file: a program found by its own name, a key for
            its own provider.
        isolation: whether and how a program is isolated, in words; "" where that is unknown.
    """

    kind: Kind
    what: str
    to: str = ""
    setting: str = ""
    file: Path | None = None
    usual: bool = False
    isolation: str = ""

    @property
    def needs_consent(self) -> bool:
        """Whether a file asks for it, and it is not the usual."""
        return self.file is not None and not self.usual

    @property
    def shown(self) -> str:
        """The act in a few words, with its isolation and the file that asks for it."""
        notes = [self.isolation] if self.isolation else []
        if self.setting and self.file:
            notes.append(f"{self.setting} in {shown_file(self.file)}")
        return f"{self._act} ({'; '.join(notes)})" if notes else self._act

    @property
    def sentence(self) -> str:
        """What the file asks for, in words."""
        if self.kind == "folder":
            return f"the run folder {_one_line(self.what)} was written by {self.to}"
        return f"{shown_file(self.file) if self.file else 'the user'} asks to {self.asked}"

    @property
    def asked(self) -> str:
        """The act, to follow "asks to"."""
        match self.kind:
            case "program":
                act = f"run the program `{_one_line(self.what)}`"
            case "endpoint" if self.what:
                act = f"send {_one_line(self.what)} to {_one_line(self.to)}"
            case "endpoint":
                act = f"send tasks and skills to {_one_line(self.to)}"
            case "cluster":
                act = f"make attempts on the cluster {_one_line(self.what)}, which it must trust"
            case "isolation" if self.what:
                act = f"let `{_one_line(self.to)}` read `{_one_line(self.what)}`"
            case "isolation":
                act = f"run `{_one_line(self.to)}` without isolation"
            case "folder":
                act = f"go on with the run folder {_one_line(self.what)}"
        return f"{act} ({self.setting})" if self.setting else act

    @property
    def _act(self) -> str:
        match self.kind:
            case "endpoint":
                return f"{_one_line(self.what) or 'no key'} -> {_one_line(self.to)}"
            case "isolation":
                return f"{_one_line(self.to)} reads {_one_line(self.what) or 'all that you can'}"
        return _one_line(self.what)

    @property
    def digest(self) -> str:
        """What is the same for the same act, whichever file asks for it."""
        act = json.dumps([self.kind, self.what, self.to])
        return hashlib.sha256(act.encode(errors="surrogatepass")).hexdigest()


def privilege_lines(asked: Sequence[Privilege]) -> Iterator[str]:
    """What a run does beyond its own process, a line for each kind of it."""
    for kind, title in _TITLES.items():
        # That programs are not isolated is the user's own choice where no file asks for it.
        told = [p.shown for p in asked if p.kind == kind and (kind != "isolation" or p.file)]
        if told:
            yield f"{title}: {', '.join(dict.fromkeys(told))}"


def privilege_rows(asked: Sequence[Privilege]) -> list[dict[str, Any]]:
    """The same as JSON; `file` is null where the user asks for it."""
    return [
        {
            "kind": one.kind,
            "what": one.what,
            "to": one.to,
            "setting": one.setting,
            "file": str(one.file) if one.file else None,
            "needs_consent": one.needs_consent,
        }
        for one in asked
    ]


def shown_file(file: Path) -> str:
    """A file as it is found from the working folder."""
    here = Path.cwd()
    return _one_line(str(file.relative_to(here) if file.is_relative_to(here) else file))


def _one_line(text: str) -> str:
    """What a file holds, as one line that cannot be taken for anything else."""
    line = " ".join(without_controls(text).split())
    more = len(line) - _LONGEST
    return line if more <= 0 else f"{line[:_LONGEST]}... ({more:,} more characters)"
