"""Paths of runs and of their files; nothing outside of the outputs folder can be read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from skillopt_cli.store.atomic_files import inner_path
from skillopt_cli.store.layout import CONFIG


class NotFound(LookupError):
    """A run or a file of it does not exist or must not be read."""


@dataclass(frozen=True, slots=True)
class RunName:
    """The name of a run: benchmark and run id."""

    benchmark: str
    run_id: str

    @classmethod
    def of_key(cls, key: str) -> RunName:
        """The run of a key such as `searchqa/first`.

        Raises:
            NotFound: the text is none.
        """
        benchmark, slash, run = key.partition("/")
        if not slash:
            raise NotFound
        return cls(benchmark, run)

    @property
    def url(self) -> str:
        """The run's page."""
        return f"/runs/{quote(self.benchmark, safe='')}/{quote(self.run_id, safe='')}"

    @property
    def key(self) -> str:
        """Both parts, such as `searchqa/first`."""
        return f"{self.benchmark}/{self.run_id}"


def sweep_url(name: str) -> str:
    """The page of a sweep."""
    return f"/sweeps/{quote(name, safe='')}"


class Outputs:
    """The outputs folder, which contains all runs.

    Args:
        root: the folder; it may be a link itself, but its content must not lead out of it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self) -> list[RunName]:
        """All runs, sorted by benchmark and id."""
        found = sorted(self.root.glob(f"*/*/{CONFIG}"))
        run_name = [RunName(path.parent.parent.name, path.parent.name) for path in found]
        return [name for name in run_name if self.holds(name)]

    def holds(self, name: RunName) -> bool:
        """Whether the run exists."""
        try:
            self.folder(name)
        except NotFound:
            return False
        return True

    def folder(self, name: RunName) -> Path:
        """The folder of a run.

        Raises:
            NotFound: it does not exist, leads out of the outputs folder, or contains a link.
        """
        for part in (name.benchmark, name.run_id):
            if not part or part.startswith(".") or {"/", "\\", "\0"} & set(part):
                raise NotFound
        folder = self.root / name.benchmark / name.run_id
        inside(self.root, folder / CONFIG)
        _refuse_links(folder)
        return folder

    def texts(self, name: RunName) -> Path:
        """The folder of a run, checked for reading all its skills and steps.

        Raises:
            NotFound: it does not exist, or there is a link among the skills and steps.
        """
        folder = self.folder(name)
        steps = [step for step in folder.glob("steps/*") if step.is_dir()]
        _refuse_links(folder / "skills", folder / "steps", *steps)
        return folder

    def file(self, name: RunName, path: str) -> Path:
        """A file of a run.

        Raises:
            NotFound: it does not exist, or leads out of the run's folder.
        """
        folder = self.folder(name)
        try:
            return inside(folder, folder / inner_path(path))
        except ValueError:
            raise NotFound from None


def inside(around: Path, path: Path) -> Path:
    """`path`, an existing file that is inside of `around` after all links are resolved.

    Raises:
        NotFound: it is not.
    """
    try:
        if path.resolve(strict=True).is_relative_to(around.resolve()) and path.is_file():
            return path
    except (OSError, RuntimeError, ValueError):
        pass
    raise NotFound


def _refuse_links(*folders: Path) -> None:
    """Refuse folders with links: the program creates none, but a stranger's folder may have some.

    Raises:
        NotFound: one of the folders contains a link or cannot be read.
    """
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                if any(entry.is_symlink() for entry in entries):
                    raise NotFound
        except FileNotFoundError:
            continue
        except OSError:
            raise NotFound from None
