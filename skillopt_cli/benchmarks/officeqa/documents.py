"""Where the documents of OfficeQA lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from skillopt_cli.benchmarks.document_roots import FOLDER, DocumentRoots, existing_roots
from skillopt_cli.core.errors import ConfigError

VARIABLE = "OFFICEQA_DOCS_DIR"
PUBLISHED = "officeqa_docs_official"
WHERE = (
    "put them into a folder `docs` beside the task files, name their folder with env.data_dirs"
    f" or {VARIABLE}, or run `skillopt data prepare officeqa`"
)


def open_documents(
    named: Sequence[str],
    task_files: Sequence[Path],
    data_root: Path,
    environment: Mapping[str, str],
) -> DocumentRoots:
    """The documents of all folders that exist, those named first.

    Args:
        named: folders to look in first.
        task_files: where the questions stand; documents may lie in `docs` beside them.

    Raises:
        ConfigError: a named folder does not exist, or holds a task file.
        DataError: a folder cannot be read.
    """
    for folder in named:
        if not Path(folder).expanduser().is_dir():
            raise ConfigError(f"`env.data_dirs` names {folder}, which is no folder", WHERE)
    variable = environment.get(VARIABLE, "")
    if variable and not Path(variable).expanduser().is_dir():
        raise ConfigError(f"the variable {VARIABLE} names {variable}, which is no folder", WHERE)
    given = [*named, *([variable] if variable else [])]
    folders = [*(Path(folder).expanduser() for folder in given), *_found(task_files, data_root)]
    roots = existing_roots(folders)
    for file in task_files:
        if any(file.resolve().is_relative_to(root) for root in roots):
            raise ConfigError(
                f"a folder of documents holds the task file {file}, where the answers stand",
                "name the folder that holds nothing but documents",
            )
    return DocumentRoots(roots)


def _found(task_files: Sequence[Path], data_root: Path) -> Iterator[Path]:
    for folder in dict.fromkeys(file.parent for file in task_files):
        yield from (folder / FOLDER, folder.parent / FOLDER)
    yield from (data_root / "officeqa" / FOLDER, data_root / PUBLISHED)
