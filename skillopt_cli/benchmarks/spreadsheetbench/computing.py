"""Formulas computed by LibreOffice, which no Python library does as spreadsheets do."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

from skillopt_cli.benchmarks.kit.programs import ProgramFolders
from skillopt_cli.benchmarks.spreadsheetbench.workbook import LARGEST, without_values
from skillopt_cli.core.errors import EpisodeFailed
from skillopt_cli.ports import Executor

PROGRAM = "soffice"
_SECONDS = 120.0
_SETTINGS = ("/etc/libreoffice", "/etc/fonts")


def available() -> str:
    """LibreOffice's path; empty where it is not installed."""
    return shutil.which(PROGRAM) or ""


async def computed(content: bytes, executor: Executor) -> bytes:
    """The workbook with every formula's value computed again, whatever values it came with.

    Raises:
        WorkbookFault: it is no workbook.
        EpisodeFailed: LibreOffice did not compute it.
    """
    bare = await asyncio.to_thread(without_values, content)
    async with executor.workspace("compute") as folder:
        folders = ProgramFolders.create(folder)
        (folders.work / "book.xlsx").write_bytes(bare)
        profile = f"-env:UserInstallation={(folder / 'home').absolute().as_uri()}"
        options = ("--headless", "--norestore", "--nolockcheck", "--nodefault", profile)
        convert = ("--convert-to", "xlsx", "--outdir", "out", "book.xlsx")
        program = available()
        finished = await folders.run(
            executor, [program, *options, *convert], limit=_SECONDS, readable=_needs(program)
        )
        made = folders.saved("out/book.xlsx", LARGEST)
    if made is None:
        said = " ".join((finished.stderr or finished.stdout).split())[-200:]
        late = f"it took longer than {_SECONDS:g} seconds" if finished.timed_out else said
        raise EpisodeFailed(f"LibreOffice computed no formulas: {late}")
    return made


def _needs(program: str) -> Iterator[Path]:
    """What it reads beyond the system's folders: settings, and itself where it lies elsewhere."""
    yield from map(Path, _SETTINGS)
    real = Path(program).resolve()
    if real.parent.name == "program":
        yield real.parent.parent
