"""What the entry point of spreadsheetbench holds. Its packages are imported when it is opened."""

from __future__ import annotations

from pathlib import Path

from skillopt_cli.benchmarks.analysts import analyst_prompts
from skillopt_cli.benchmarks.options import read_options
from skillopt_cli.benchmarks.programs import absent
from skillopt_cli.benchmarks.spreadsheetbench import texts
from skillopt_cli.benchmarks.spreadsheetbench.options import NAME, SpreadsheetOptions
from skillopt_cli.benchmarks.spreadsheetbench.prepare import COUNTS, prepare
from skillopt_cli.core.errors import DataError
from skillopt_cli.ports import Benchmark, BenchmarkRequest, BenchmarkSpec

EXTRA = "sheets"


def open_spreadsheetbench(request: BenchmarkRequest) -> Benchmark:
    """Load the tasks; see `benchmark.open_tasks`.

    Raises:
        ConfigError: an option is unknown or malformed.
        DataError: a package is missing, or a file, record or workbook is unusable.
    """
    options = read_options(SpreadsheetOptions, request.options, NAME)
    if lacking := missing():
        raise DataError(f"{NAME} needs {lacking}", f"pip install 'skillopt-cli[{EXTRA}]'")
    from skillopt_cli.benchmarks.spreadsheetbench.benchmark import open_tasks

    return open_tasks(request, options)


def missing() -> str:
    """The packages that are absent on this machine; LibreOffice is welcome, not needed."""
    return ", ".join(f"the package `{name}`" for name in absent("openpyxl", "pandas"))


SPEC = BenchmarkSpec(
    name=NAME,
    summary="workbooks changed by Python scripts (cells compared as published)",
    open=open_spreadsheetbench,
    options=SpreadsheetOptions,
    modality=("text", "code"),
    sizes=COUNTS,
    prepare=prepare,
    sample=Path(__file__).parent / "sample",
    extra=EXTRA,
    missing=missing,
    runs_programs=True,
    prompts=analyst_prompts(texts.FAILURES, texts.SUCCESSES),
)
