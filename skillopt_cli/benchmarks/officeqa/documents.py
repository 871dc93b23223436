"""The documents of OfficeQA: their folders, and the text of parsed pages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from skillopt_cli.benchmarks.kit.document_roots import FOLDER, DocumentRoots, existing_roots
from skillopt_cli.benchmarks.kit.html_text import html_text
from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.safe_files import read_regular

VARIABLE = "OFFICEQA_DOCS_DIR"
PUBLISHED = "officeqa_docs_official"
WHERE = (
    "put them into a folder `docs` beside the task files, name their folder with env.data_dirs"
    f" or {VARIABLE}, or run `skillopt data prepare officeqa`"
)


LONGEST_PAGE = 24_000
LONGEST_PAGES = 80_000
_CUT = "\n[the page is cut here]"


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


class ParsedPages:
    """The parsed documents near some document roots: `jsons/STEM.json` in or beside them."""

    def __init__(self, roots: Sequence[Path]) -> None:
        folders = dict.fromkeys(root / "jsons" for r in roots for root in (r, r.parent))
        self._folders = tuple(folder for folder in folders if folder.is_dir())
        self._shown: dict[tuple[str, int], str] = {}

    def digest(self, file: str) -> str:
        """Hex SHA-256 of the parsed form of a document; empty when there is none."""
        path = self._path(file)
        return hashlib.sha256(read_regular(path)).hexdigest() if path else ""

    def text(self, pages: Sequence[tuple[str, int]]) -> str:
        """The pages under their names, each and all together cut to a bounded length.

        Raises:
            DataError: a document's parsed form is none.
        """
        parts: list[str] = []
        room = LONGEST_PAGES
        for file, page in pages:
            text = self._page(file, page)
            if text and room > 0:
                parts.append(f"### {file}, page {page}\n{_cut(text, min(room, LONGEST_PAGE))}")
                room -= len(text)
        return "\n\n".join(parts)

    def _page(self, file: str, page: int) -> str:
        if (file, page) not in self._shown:
            path = self._path(file)
            text = "\n\n".join(_elements(path, page)) if path else ""
            self._shown[file, page] = text[: LONGEST_PAGE + 1]
        return self._shown[file, page]

    def _path(self, file: str) -> Path | None:
        name = f"{PurePosixPath(file).stem}.json"
        found = (folder / name for folder in self._folders)
        return next((p for p in found if p.is_file()), None)


def _elements(path: Path, page: int) -> Iterator[str]:
    try:
        parsed = json.loads(read_regular(path))
        elements = list(parsed["document"]["elements"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} is no parsed document: {error!r}",
            "it holds document.elements, or set env.oracle_pages=false",
        ) from error
    for element in elements:
        content = element.get("content") if isinstance(element, Mapping) else None
        if isinstance(content, str) and content.strip() and _is_on(element, page):
            is_table = "<table" in content.casefold()
            yield html_text(content) if is_table else content.strip()


def _is_on(element: Mapping[str, Any], page: int) -> bool:
    boxes = element.get("bbox")
    boxes = boxes if isinstance(boxes, list) else [boxes]
    return any(isinstance(box, Mapping) and box.get("page_id") == page for box in boxes)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length] + _CUT
