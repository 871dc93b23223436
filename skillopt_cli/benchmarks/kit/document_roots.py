"""Document roots: folders of text files as one tree of names, which leads nowhere else."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import TaskFile
from skillopt_cli.safe_files import digest_regular, read_regular

FOLDER = "docs"
"""What every name begins with: also where the files lie in an agent's working folder."""


class DocumentRoots:
    """The files below some folders, by names without the path of the root.

    A name is `docs/` and the path below its root; of two files with one name, that of the earlier
    root counts. Hidden files are left out, as is everything whose real place is outside its root:
    a link leads nowhere else, whatever it is called.

    Raises:
        DataError: a folder cannot be read.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(root.resolve() for root in roots)
        self._files: dict[str, tuple[Path, Path]] = {}
        for root in self.roots:
            for path in _below(root):
                name = str(PurePosixPath(FOLDER) / path.relative_to(root).as_posix())
                self._files.setdefault(name, (root, path))
        self._by_base: dict[str, list[str]] = {}
        for name in sorted(self._files):
            self._by_base.setdefault(PurePosixPath(name).name, []).append(name)
        self._digests: dict[str, str] = {}

    def read_at(self, files: Iterable[TaskFile]) -> None:
        """From now on, read these files at their paths."""
        for file in files:
            path = Path(file.path).resolve()
            self._files[file.name] = (path.parent, path)
            self._digests[file.name] = file.digest

    @property
    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        return tuple(sorted(self._files))

    def called(self, base: str) -> tuple[str, ...]:
        """The names that end in this file name."""
        return tuple(self._by_base.get(base, ()))

    def path(self, name: str) -> Path:
        """Where a file lies.

        Raises:
            DataError: there is no such name, or by now it is a link out of its root.
        """
        if name not in self._files:
            raise DataError(f"there is no document `{name}`")
        root, path = self._files[name]
        if not path.resolve().is_relative_to(root):
            raise DataError(f"the document `{name}` leads out of its folder")
        return path

    def text(self, name: str) -> str:
        """The text of a file; bytes that are no UTF-8 are replaced.

        Raises:
            DataError: it cannot be read.
        """
        try:
            return read_regular(self.path(name)).decode("utf-8", errors="replace")
        except OSError as error:
            raise DataError(f"cannot read the document `{name}`: {error.strerror}") from error

    def digest(self, name: str) -> str:
        """Hex SHA-256 of a file, read once.

        Raises:
            DataError: it cannot be read.
        """
        if name not in self._digests:
            try:
                self._digests[name] = digest_regular(self.path(name))
            except OSError as error:
                raise DataError(f"cannot read the document `{name}`: {error.strerror}") from error
        return self._digests[name]

    def task_files(self, digests: Mapping[str, str]) -> tuple[TaskFile, ...]:
        """Files for an agent's working folder, under their names there."""
        return tuple(
            TaskFile(str(self.path(name)), name, digest) for name, digest in digests.items()
        )


def existing_roots(folders: Iterable[Path]) -> tuple[Path, ...]:
    """The folders that exist, each once; one that has a folder `transformed` means that one."""
    found: dict[Path, None] = {}
    for folder in folders:
        if folder.is_dir():
            inner = folder / "transformed"
            found[(inner if inner.is_dir() else folder).resolve()] = None
    return tuple(found)


def _below(root: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise DataError(f"cannot read {error.filename}: {error.strerror}") from error

    for folder, folders, files in os.walk(root, onerror=fail, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(folder, name)
            real = path.resolve()
            if not name.startswith(".") and real.is_relative_to(root) and real.is_file():
                yield path
