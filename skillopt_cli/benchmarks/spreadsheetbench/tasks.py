"""Task records and their workbooks, in the published layout."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.spreadsheetbench.areas import Area, read_areas
from skillopt_cli.core.task import Task, TaskFile
from skillopt_cli.safe_files import read_regular

_NUMBERED = re.compile(r"(?P<number>\d+)_(?P<rest>.*)_(?P<part>input|init)\.xlsx", re.IGNORECASE)
_ANSWERS = {"input": "answer", "init": "golden"}
_KINDS = ("cell-level", "sheet-level")


@dataclass(frozen=True, slots=True)
class WorkbookCase:
    """A workbook to be changed, and how it should look then; both by digest.

    Attributes:
        number: as in the files' names, such as "1".
    """

    number: str
    given: str
    answer: str


class WorkbookStore:
    """Where the workbooks lie.

    A task's data hold digests of their bytes; paths, which say nothing of the task, are kept here.

    Args:
        roots: folders where a record's `spreadsheet_path` is looked up, after the folder of its
            task file and the one around that.
    """

    def __init__(self, roots: Sequence[Path] = ()) -> None:
        self._roots = tuple(roots)
        self._paths: dict[str, Path] = {}

    def task(self, record: Record) -> Task:
        """A record as a task.

        Raises:
            DataError: a field or a workbook is missing or cannot be used.
        """
        if record.data.keys() == {"id"}:
            raise record.fault(
                "holds an id and nothing else",
                "fill the id manifest in: `skillopt data prepare spreadsheetbench"
                " --manifest-dir DIR`",
            )
        identifier = record.identifier()
        answer_sheet = record.data.get("answer_sheet")
        data: dict[str, Any] = {
            "instruction": record.text("instruction"),
            "instruction_type": record.text("instruction_type"),
            "answer_position": record.text("answer_position"),
            "answer_sheet": record.text("answer_sheet") if answer_sheet else "",
        }
        try:
            areas_of(data)
        except ValueError as error:
            raise record.fault(f"`answer_position` cannot be used: {error}") from None
        folder = self._folder(record, identifier)
        cases = [
            {"number": number, "given": self._kept(given), "answer": self._kept(answer)}
            for number, given, answer in _cases(record, folder)
        ]
        kind = data["instruction_type"].casefold()
        named = next((name for name in _KINDS if name in kind), "other").replace("-", "_")
        return Task(identifier, sys.intern(named), {**data, "cases": cases})

    def read_at(self, files: Iterable[TaskFile]) -> None:
        """From now on, read these workbooks at their paths."""
        self._paths |= {file.digest: Path(file.path) for file in files}

    def path(self, digest: str) -> Path:
        """Where a workbook lies."""
        return self._paths[digest]

    def content(self, digest: str) -> bytes:
        """A workbook's bytes."""
        return read_regular(self._paths[digest])

    def _folder(self, record: Record, identifier: str) -> Path:
        named = record.data.get("spreadsheet_path")
        name = record.text("spreadsheet_path") if named else f"spreadsheet/{identifier}"
        around = record.path.parent
        roots = (around, around.parent, *self._roots)
        found = next((root / name for root in roots if (root / name).is_dir()), None)
        if found is None:
            looked = ", ".join(dict.fromkeys(map(str, roots)))
            raise record.fault(
                f"the folder `{name}` with its workbooks is not there",
                f"looked in {looked}; env.workbooks names another place",
            )
        return found

    def _kept(self, path: Path) -> str:
        digest = hashlib.sha256(read_regular(path)).hexdigest()
        self._paths[digest] = path.resolve()
        return digest


def areas_of(data: Mapping[str, Any]) -> tuple[Area, ...]:
    """The place of a task's answer.

    Raises:
        ValueError: its position is no reference.
    """
    return read_areas(data["answer_position"], data["answer_sheet"])


def cases_of(task: Task) -> tuple[WorkbookCase, ...]:
    """A task's cases, at least one."""
    return tuple(WorkbookCase(**case) for case in task.data["cases"])


def _cases(record: Record, folder: Path) -> list[tuple[str, Path, Path]]:
    """Number, given workbook and answer of each case, in order."""
    found = sorted(_numbered(record, folder), key=lambda case: int(case[0]))
    plain = (folder / "initial.xlsx", folder / "golden.xlsx")
    if not found and all(path.is_file() for path in plain):
        found = [("1", *plain)]
    if not found:
        raise record.fault(
            f"{folder} holds no workbooks of a case",
            "wanted are pairs such as 1_x_input.xlsx and 1_x_answer.xlsx",
        )
    return found


def _numbered(record: Record, folder: Path) -> Iterator[tuple[str, Path, Path]]:
    for path in sorted(folder.iterdir()):
        match = _NUMBERED.fullmatch(path.name)
        if match is None or path.name.startswith("~"):
            continue
        part = _ANSWERS[match["part"].lower()]
        answer = path.with_name(f"{match['number']}_{match['rest']}_{part}.xlsx")
        if not answer.is_file():
            raise record.fault(f"{path} has no {answer.name} beside it")
        yield match["number"], path, answer
