"""Makes the bundled sample of swebench: small repositories of our own with a fault each.

    python make_swebench.py FOLDER

Every task is a repository as texts by path, an issue, the patch that mends it, and tests that are
added afterwards. Nothing here is drawn by chance.
"""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from swebench_repositories import REPOSITORIES, Fault, Repository

SPLITS = {"train": 12, "val": 8, "test": 12}


@dataclass(frozen=True)
class Made:
    """A fault put into its repository."""

    repository: Repository
    fault: Fault

    @property
    def module(self) -> str:
        return f"{self.repository.name}/core.py"

    @property
    def tests(self) -> str:
        return f"tests/test_{self.repository.name}.py"

    def files(self) -> Mapping[str, str]:
        """The repository with its fault."""
        name = self.repository.name
        assert self.repository.code.count(self.fault.right) == 1, (name, self.fault.right)
        return {
            "README.md": f"# {name}\n\n{self.repository.about}\n",
            f"{name}/__init__.py": f'"""{self.repository.about}"""\n',
            self.module: self.repository.code.replace(self.fault.right, self.fault.wrong),
            self.tests: self._tests(self.repository.tests),
            # Tests find the package wherever pytest is started.
            "conftest.py": "",
        }

    def patch(self) -> str:
        before = self.files()[self.module]
        return difference(self.module, before, self.repository.code)

    def test_patch(self) -> str:
        return difference(
            self.tests,
            self._tests(self.repository.tests),
            self._tests(self.repository.tests + self.fault.tests),
        )

    def _tests(self, tests: str) -> str:
        return f"from {self.repository.name}.core import *\n{tests}"

    def names(self, tests: str) -> list[str]:
        """Tests of a text, as pytest calls them."""
        lines = (line for line in tests.splitlines() if line.startswith("def test_"))
        return [f"{self.tests}::{line[4:].partition('(')[0]}" for line in lines]


def difference(path: str, before: str, after: str) -> str:
    """A patch as git writes it."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    return f"diff --git a/{path} b/{path}\n{''.join(lines)}"


def records() -> Iterator[dict[str, object]]:
    """First faults of all repositories, then second ones."""
    for turn in range(2):
        for repository in REPOSITORIES:
            fault = repository.faults[turn]
            made = Made(repository, fault)
            yield {
                "instance_id": f"sample__{repository.name}-{turn + 1}",
                "repo": f"sample/{repository.name}",
                "base_commit": "",
                "problem_statement": fault.issue,
                "files": made.files(),
                "patch": made.patch(),
                "test_patch": made.test_patch(),
                "FAIL_TO_PASS": made.names(fault.tests),
                "PASS_TO_PASS": made.names(repository.tests),
            }


def main(folder: Path) -> None:
    """Write the sample into a folder."""
    made = records()
    for split, size in SPLITS.items():
        part = [next(made) for _ in range(size)]
        path = folder / split / "items.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{json.dumps(part, indent=1)}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
