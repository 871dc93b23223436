"""Files that are not regular, links and paths that leave a folder are refused."""

from __future__ import annotations

import ast
import os
import socket
from pathlib import Path
from typing import Literal

import pytest

import skillopt_cli
from skillopt_cli.safe_files import (
    UnsafePath,
    open_regular,
    path_inside,
    read_regular,
    read_text,
    read_unlinked,
)

MODES: tuple[Literal["rb", "ab"], ...] = ("rb", "ab")


@pytest.mark.parametrize("mode", MODES)
def test_a_pipe_a_device_and_a_socket_are_refused(mode: Literal["rb", "ab"]) -> None:
    os.mkfifo("pipe")
    Path("device").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for name in ("pipe", "device", "socket", "."):
            with pytest.raises(OSError):
                open_regular(Path(name), mode)


def test_a_pipe_with_a_reader_is_refused_as_well() -> None:
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="it is no regular file"):
        open_regular(Path("pipe"), "ab")
    os.close(reader)


def test_a_file_is_read_and_added_to() -> None:
    with open_regular(Path("new"), "ab") as file:
        file.write(b"one")
    assert read_regular(Path("new")) == b"one"
    with pytest.raises(FileNotFoundError):
        read_regular(Path("gone"))


def test_a_plain_file_is_read_up_to_its_limit() -> None:
    Path("plain").write_bytes(b"12345")
    assert read_unlinked(Path("plain"), 5) == b"12345"
    assert read_unlinked(Path("plain"), 4) is None
    assert read_unlinked(Path("gone"), 4) is None


def test_links_pipes_and_folders_are_not_read_as_plain_files() -> None:
    Path("secret").write_bytes(b"secret")
    Path("symbolic").symlink_to("secret")
    os.link("secret", "hard")
    os.mkfifo("pipe")
    for name in ("symbolic", "hard", "secret", "pipe", "."):
        assert read_unlinked(Path(name), 100) is None, name


@pytest.mark.parametrize(
    "name", ["", " ", "\0", "/etc/hosts", "../x", "a/../../x", "out/x", "a/link"]
)
def test_a_path_that_leaves_its_folder_is_refused(name: str) -> None:
    folder = Path("work")
    (folder / "a").mkdir(parents=True)
    (folder / "out").symlink_to("/")
    (folder / "a/link").symlink_to("b")
    with pytest.raises(UnsafePath):
        path_inside(folder, name)
    assert path_inside(folder, "a/new.txt") == folder / "a/new.txt"


def test_a_folder_replaced_by_a_link_is_refused() -> None:
    Path("work").symlink_to("/")
    with pytest.raises(UnsafePath, match="replaced by a link"):
        path_inside(Path("work"), "x")


def test_a_file_above_the_limit_is_refused_before_it_is_read() -> None:
    with Path("endless").open("wb") as file:
        file.truncate(1 << 40)
    for read in (read_regular, read_text):
        with pytest.raises(OSError, match="it holds more than"):
            read(Path("endless"))
    with pytest.raises(OSError, match="it holds more than 1 kB"):
        open_regular(Path("endless"), most=1000)
    assert read_regular(Path("/proc/self/status"), 1_000_000)
    with pytest.raises(OSError, match="it holds more than 0 kB"):
        read_regular(Path("/proc/self/status"), 10)


def test_text_is_read_as_python_reads_it() -> None:
    Path("text").write_bytes("\ufeffa\r\nb\rc\n".encode())
    assert read_text(Path("text")) == "a\nb\nc\n"


PACKAGE = Path(skillopt_cli.__file__).parent
READ_OTHERWISE = {
    "benchmarks/alfworld/game_process.py": "files of a package",
    "benchmarks/alfworld/household.py": "files of a package",
    "benchmarks/kit/prompts.py": "a shipped file",
    "benchmarks/spreadsheetbench/driver.py": "in the program that is isolated",
    "benchmarks/spreadsheetbench/scripts.py": "a shipped file",
    "backends/chat/weights.py": "files of a package",
    "charts/svg.py": "a shipped file",
    "cli/main.py": "the streams of the process",
    "cli/new.py": "a shipped file",
    "compose/prompts.py": "a shipped file",
    "safe_files.py": "the one place",
    "store/lock.py": "a file that is also written, whose opening waits for nobody",
    "web/app.py": "a shipped file",
}


def reads(tree: ast.AST) -> list[int]:
    """Lines that read a file by `Path.read_text`, `Path.read_bytes` or an `open` for reading."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        method = called.attr if isinstance(called, ast.Attribute) else ""
        name = called.id if isinstance(called, ast.Name) else ""
        if method in ("read_text", "read_bytes"):
            found.append(node.lineno)
        elif name == "open" or method == "open":
            words = [a.value for a in node.args if isinstance(a, ast.Constant)]
            modes = [
                word for word in words if isinstance(word, str) and set(word) <= set("rwaxbt+")
            ]
            if any("r" in mode or "+" in mode for mode in modes) or (name and not modes):
                found.append(node.lineno)
    return found


def test_every_file_is_read_in_one_way() -> None:
    """A read elsewhere has no limit, and may wait for ever: say in the list why it may."""
    found = {
        str(path.relative_to(PACKAGE)): lines
        for path in sorted(PACKAGE.rglob("*.py"))
        if "testing" not in path.parts
        and (lines := reads(ast.parse(path.read_text(encoding="utf-8"))))
    }
    unknown = {name: lines for name, lines in found.items() if name not in READ_OTHERWISE}
    assert unknown == {}
    assert READ_OTHERWISE.keys() - found.keys() == set()


def test_the_check_finds_what_it_looks_for() -> None:
    text = "a.read_text()\nb.read_bytes()\nc.open('rb')\nopen(d)\ne.open('wb')\nf.open('a')\n"
    assert reads(ast.parse(text)) == [1, 2, 3, 4]
