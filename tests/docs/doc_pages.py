"""Pages of the documentation: their code blocks, links and headings, and how a page is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
EXAMPLES = DOCS / "examples"
PAGES = sorted([*ROOT.glob("*.md"), *(p for p in DOCS.rglob("*.md") if EXAMPLES not in p.parents)])

_NOTE = re.compile(r"<!--\s*(.*?)\s*-->\s*\Z", re.DOTALL)
_FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<language>\w*)[ \t]*\n(?P<text>.*?)^(?P=fence)[ \t]*$", re.M | re.S
)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^(#+) +(.+?)[ \t]*$", re.M)
_PUNCTUATION = re.compile(r"[^\w\- ]")
_GAP = re.compile(" {2,}")
_SECONDS = 600
NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. `note` is the HTML comment on the line before it, if any."""

    page: Path
    line: int
    language: str
    text: str
    note: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def runs(self) -> bool:
        return self.language == "bash" and not self.note.startswith("not run:")

    @property
    def source(self) -> Path | None:
        """The example file the block shows, whole (`file:`) or in part (`part of:`)."""
        for word in ("file:", "part of:"):
            if self.note.startswith(word):
                return ROOT / self.note.removeprefix(word).strip()
        return None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        before = text[: match.start()]
        note = _NOTE.search(before.rstrip(" \n"))
        # A comment belongs to the block only when nothing but the line's end is between them.
        close = note is not None and before.endswith("-->\n")
        found.append(
            Block(
                page,
                before.count("\n") + 1,
                match["language"],
                match["text"],
                note.group(1).rsplit("<!--", 1)[-1].strip() if note and close else "",
            )
        )
    return found


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> Iterator[str]:
    yield from _LINK.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """What `page.md#...` may point to."""
    return {
        _PUNCTUATION.sub("", title.lower()).replace(" ", "-")
        for _, title in _HEADING.findall(prose(page))
    }


def headings(page: Path) -> list[str]:
    return [title for _, title in _HEADING.findall(prose(page))]


_WAIT = 'wait() { builtin wait; for run in outputs/*/*/; do flock "$run" true; done; }'
"""Each block has a shell of its own, so that a run which an earlier one began is not its child: it
has ended when its folder is no longer locked."""


@dataclass(slots=True)
class Shell:
    """Runs a page's blocks in one folder; exported variables live on from block to block."""

    folder: Path
    environment: Mapping[str, str]
    _state: Path = field(init=False)

    def __post_init__(self) -> None:
        self._state = self.folder.parent / f"{self.folder.name}.exports"
        self._state.write_text("", encoding="utf-8")

    def run(self, text: str) -> tuple[int, str]:
        """Exit code and output, stdout and stderr in the order they were written."""
        begin = f'set -euo pipefail\n{_WAIT}\nsource "{self._state}"\n'
        script = f'{begin}{text}\nexport -p > "{self._state}"\n'
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=dict(self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return done.returncode, done.stdout


def shell_environment(site: Path) -> dict[str, str]:
    """A bare environment in which `skillopt` and the plug-ins in `site` are found."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return {
        "PATH": path,
        "HOME": os.environ["HOME"],
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH")))),
        "COLUMNS": "100",
        # Nothing listens there: a page that left the loopback would fail.
        "HTTP_PROXY": NOWHERE,
        "HTTPS_PROXY": NOWHERE,
        "NO_PROXY": "127.0.0.1",
    }


def install_example_plugin(site: Path) -> None:
    """Put the example package where Python finds it, as an installer would."""
    project = tomllib.loads((EXAMPLES / "pyproject.toml").read_text(encoding="utf-8"))
    about = project["project"]
    info = site / f"{about['name'].replace('-', '_')}-{about['version']}.dist-info"
    info.mkdir(parents=True)
    metadata = f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    lines = []
    for group, points in about["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for module in project["tool"]["setuptools"]["py-modules"]:
        text = (EXAMPLES / f"{module}.py").read_text(encoding="utf-8")
        (site / f"{module}.py").write_text(text, encoding="utf-8")


def fits(pattern: str, output: str) -> bool:
    """Whether `output` is `pattern`, where `...` stands for anything within a line.

    A line that is `...` alone stands for any number of lines. White space at line ends is free, and
    so is the width of columns.
    """
    pattern, output = (_GAP.sub("  ", text.strip("\n")) for text in (pattern, output))
    parts = []
    for line in pattern.split("\n"):
        if line.strip() == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            words = (re.escape(word) for word in line.rstrip().split("..."))
            parts.append(r"[^\n]*?".join(words) + r"[ \t]*\n")
    return re.fullmatch("".join(parts), output + "\n") is not None
