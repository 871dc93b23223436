"""Programs that attempts run: code a model wrote, in a folder of its own."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from skillopt_cli.benchmarks.kit.tools import ToolFault
from skillopt_cli.benchmarks.kit.working_files import inside
from skillopt_cli.core.errors import EpisodeFailed
from skillopt_cli.permissions import make_folder
from skillopt_cli.ports import Executor, Finished
from skillopt_cli.safe_files import read_unlinked

_SITE = ("site-packages", "dist-packages")
_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")
_WHO = ("AUTHOR", "COMMITTER")
_PASSING = (
    # An object's address, as in `<Thing at 0x7f3a>`.
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "0x0"),
    # How long something took, as test runners end with: "in 0.12s", "in 0.120 seconds".
    (re.compile(r"\bin \d+\.\d+ ?(s\b|sec(?:ond)?s?\b)( \(\d+:\d\d:\d\d\))?"), r"in 0.00\1"),
    # The time of a change, as `ls -l` prints it.
    (
        re.compile(
            r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d (?:\d\d:\d\d| \d{4})\b"
        ),
        "Jan  1 00:00",
    ),
)


@dataclass(frozen=True, slots=True)
class ProgramFolders:
    """The folders of programs within an attempt's workspace.

    Attributes:
        folder: the whole workspace.
        shown: what programs' output calls the folder they work in.
    """

    folder: Path
    shown: str = "/work"

    @property
    def work(self) -> Path:
        """Where programs work."""
        return self.folder / "work"

    @classmethod
    def create(cls, folder: Path, shown: str = "/work") -> Self:
        """Make the folders in a fresh workspace."""
        for name in ("work", "home", "tmp"):
            make_folder(folder / name, exist_ok=False)
        return cls(folder, shown)

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that keep programs within the workspace and their output reproducible."""
        return {
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "PYTHONHASHSEED": "0",
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            # Threads of numeric libraries would only fight over the same processors.
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "PAGER": "cat",
            # A repository around the workspace is none of the attempt's.
            "GIT_CEILING_DIRECTORIES": str(self.folder),
            # So that commits, too, are the same twice.
            **{f"GIT_{who}_NAME": "base" for who in _WHO},
            **{f"GIT_{who}_EMAIL": "base@localhost" for who in _WHO},
            **{f"GIT_{who}_DATE": "2020-01-01T00:00:00Z" for who in _WHO},
        }

    def reproducible(self, text: str) -> str:
        """A program's output without what differs from one run to the next.

        A resume plays journaled turns again, so their text must be the same.
        """
        for folder, name in ((self.work, self.shown), (self.folder, "")):
            for path in {str(folder), str(folder.resolve())}:
                text = text.replace(path, name)
        for pattern, instead in _PASSING:
            text = pattern.sub(instead, text)
        return text

    async def run(
        self,
        executor: Executor,
        argv: Sequence[str],
        *,
        limit: float,
        stdin: str = "",
        readable: Iterable[Path] = (),
    ) -> Finished:
        """Run a program where programs work; see `Executor.run`.

        Raises:
            EpisodeFailed: the executor stopped it for a reason that is no time limit.
        """
        finished = await executor.run(
            argv,
            cwd=self.work,
            stdin=stdin,
            limit=limit,
            environment=self.environment,
            readable=frozenset(readable),
        )
        if finished.stopped:
            raise EpisodeFailed(f"a program was stopped: {finished.stopped}")
        return finished

    def saved(self, name: str, most: int) -> bytes | None:
        """A file that a program left where it worked; None for none, or no plain one."""
        try:
            return read_unlinked(inside(self.work, name), most)
        except ToolFault:
            return None


def packages(*names: str) -> frozenset[Path]:
    """Folders that hold installed packages, for `readable`.

    Of a package that is installed as others are, the folder of them all: it needs some of those.
    """
    found = set[Path]()
    for name in names:
        spec = importlib.util.find_spec(name)
        for place in spec.submodule_search_locations or () if spec else ():
            path = Path(place)
            found.add(path.parent if path.parent.name in _SITE else path)
    return frozenset(found)


def installation(interpreter: Path) -> frozenset[Path]:
    """What programs started from a Python environment need of it, and of the Python below it."""
    prefixes = (interpreter.parent.parent, interpreter.resolve().parent.parent)
    parts = (prefix / name for prefix in prefixes for name in _PARTS)
    return frozenset(part for part in parts if part.exists())


def absent(*packages: str, programs: Sequence[str] = ()) -> str:
    """The packages and programs that are not on this machine; "" when all are."""
    lacking = [f"the package `{p}`" for p in packages if importlib.util.find_spec(p) is None]
    return ", ".join([*lacking, *(f"the program `{p}`" for p in programs if not shutil.which(p))])


def clipped(text: str, most: int) -> str:
    """Beginning and end of a text longer than `most` characters, with a note on the rest."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
