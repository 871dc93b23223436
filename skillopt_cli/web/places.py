"""Where runs are, and which of their files may be read: none outside of the outputs folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from skillopt_cli.compose.folder import CONFIG


class Missing(LookupError):
    """There is no such run, or no such file of one, or it must not be read."""


@dataclass(frozen=True, slots=True)
class Named:
    """A run by its place in the outputs folder."""

    benchmark: str
    run_id: str

    @property
    def url(self) -> str:
        """Its page."""
        return f"/runs/{quote(self.benchmark, safe='')}/{quote(self.run_id, safe='')}"

    @property
    def key(self) -> str:
        """The name in one word."""
        return f"{self.benchmark}/{self.run_id}"


class Outputs:
    """The folder that holds all runs.

    Args:
        root: may itself be a link; what lies in it may not lead out of it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self) -> list[Named]:
        """All runs, by benchmark and id."""
        found = sorted(self.root.glob(f"*/*/{CONFIG}"))
        named = [Named(path.parent.parent.name, path.parent.name) for path in found]
        return [name for name in named if self.holds(name)]

    def holds(self, name: Named) -> bool:
        """Whether there is such a run."""
        try:
            self.folder(name)
        except Missing:
            return False
        return True

    def folder(self, name: Named) -> Path:
        """A run's folder.

        Raises:
            Missing: there is none, it leads out of the outputs folder, or a link lies in it.
        """
        for part in (name.benchmark, name.run_id):
            if not part or part.startswith(".") or {"/", "\\", "\0"} & set(part):
                raise Missing
        folder = self.root / name.benchmark / name.run_id
        inside(self.root, folder / CONFIG)
        _refuse_links(folder)
        return folder

    def texts(self, name: Named) -> Path:
        """A run's folder, to read its skills and steps without asking for each file.

        Raises:
            Missing: there is none, or a link lies where they are.
        """
        folder = self.folder(name)
        steps = [step for step in folder.glob("steps/*") if step.is_dir()]
        _refuse_links(folder / "skills", folder / "steps", *steps)
        return folder

    def file(self, name: Named, path: str) -> Path:
        """A file of a run.

        Raises:
            Missing: there is none, or it leads out of the run's folder.
        """
        inner = PurePosixPath(path)
        if inner.is_absolute() or not inner.parts or ".." in inner.parts or "\0" in path:
            raise Missing
        folder = self.folder(name)
        return inside(folder, folder / inner)


def inside(around: Path, path: Path) -> Path:
    """`path`, an existing file that lies in `around` when all links are followed.

    Raises:
        Missing: it does not.
    """
    try:
        if path.resolve(strict=True).is_relative_to(around.resolve()) and path.is_file():
            return path
    except (OSError, RuntimeError, ValueError):
        pass
    raise Missing


def _refuse_links(*folders: Path) -> None:
    """Whoever made a run's folder might have put links in it; the program itself makes none.

    Raises:
        Missing: there is one in these folders, or one of them cannot be read.
    """
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                if any(entry.is_symlink() for entry in entries):
                    raise Missing
        except FileNotFoundError:
            continue
        except OSError:
            raise Missing from None
