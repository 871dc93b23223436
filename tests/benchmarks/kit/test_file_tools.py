"""Documents under their roots, and the tools that look into them: nothing else is reached."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from skillopt_cli.benchmarks.kit.document_roots import DocumentRoots, existing_roots
from skillopt_cli.benchmarks.kit.file_tools import LONGEST_ROW, MOST_CHARS, FileTools
from skillopt_cli.benchmarks.kit.tools import ToolLoop
from skillopt_cli.core.episode import ToolCall, ToolResult
from skillopt_cli.core.errors import DataError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "more").mkdir(parents=True)
    (folder / "a.txt").write_text("one\nTwo\nthree\n", encoding="utf-8")
    (folder / "more" / "b.txt").write_bytes("caf\xe9\r\nbar\r\n".encode("latin-1"))
    (folder / ".hidden").write_text("no", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("the secret", encoding="utf-8")
    return folder


async def use(documents: DocumentRoots, tool: str, names: Sequence[str] = (), **arguments: object):
    box = ToolLoop(FileTools(documents, names or documents.names).offers())
    return await box.use(ToolCall("c", tool, json.dumps(arguments)))


def test_names_say_nothing_of_the_machine(root: Path) -> None:
    documents = DocumentRoots([root])
    assert documents.names == ("docs/a.txt", "docs/more/b.txt")
    assert documents.called("b.txt") == ("docs/more/b.txt",)
    assert documents.called("c.txt") == ()


def test_links_out_of_a_root_are_not_there_and_links_within_are(root: Path) -> None:
    (root / "out.txt").symlink_to(root.parent / "secret.txt")
    (root / "folder").symlink_to(root.parent)
    (root / "in.txt").symlink_to(root / "a.txt")
    (root / "dead.txt").symlink_to(root / "nothing")
    assert DocumentRoots([root]).names == ("docs/a.txt", "docs/in.txt", "docs/more/b.txt")


def test_a_root_may_itself_be_a_link(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to(root)
    assert DocumentRoots([link]).text("docs/a.txt").startswith("one")


def test_a_file_that_became_a_link_out_is_refused(root: Path) -> None:
    documents = DocumentRoots([root])
    (root / "a.txt").unlink()
    (root / "a.txt").symlink_to(root.parent / "secret.txt")
    for read in (documents.text, documents.digest, documents.path):
        with pytest.raises(DataError, match="leads out of its folder"):
            read("docs/a.txt")


def test_of_two_files_with_one_name_that_of_the_earlier_root_counts(root: Path) -> None:
    other = root.parent / "other"
    other.mkdir()
    (other / "a.txt").write_text("other", encoding="utf-8")
    (other / "z.txt").write_text("z", encoding="utf-8")
    documents = DocumentRoots([root, other])
    assert documents.text("docs/a.txt").startswith("one")
    assert documents.text("docs/z.txt") == "z"
    assert DocumentRoots([other, root]).text("docs/a.txt") == "other"


def test_a_folder_transformed_stands_for_its_parent(root: Path) -> None:
    (root / "transformed").mkdir()
    assert existing_roots([root, root / "transformed", root / "no"]) == (root / "transformed",)


def test_a_file_for_an_agent_lies_under_its_name(root: Path) -> None:
    documents = DocumentRoots([root])
    (file,) = documents.task_files({"docs/a.txt": documents.digest("docs/a.txt")})
    assert (file.name, Path(file.path)) == ("docs/a.txt", root / "a.txt")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*", "docs/a.txt\ndocs/more/b.txt"),
        ("*.txt", "docs/a.txt\ndocs/more/b.txt"),
        ("b.*", "docs/more/b.txt"),
        ("more/*", "docs/more/b.txt"),
        ("./docs/a*", "docs/a.txt"),
        ("/etc/*", "(no document matches)"),
        ("../*", "(no document matches)"),
        (".hidden", "(no document matches)"),
    ],
)
async def test_glob(root: Path, pattern: str, found: str) -> None:
    assert await use(DocumentRoots([root]), "glob", pattern=pattern) == ToolResult(found)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"path": "docs/a.txt"}, "one\nTwo\nthree\n"),
        ({"path": "a.txt", "start": 2, "limit": 1}, "Two"),
        ({"path": "./docs/a.txt", "start": 3, "limit": 9}, "three\n"),
        ({"path": "b.txt"}, "caf\ufffd\nbar\n"),
        ({"path": "a.txt", "start": 9}, "(the document has 4 lines)"),
    ],
)
async def test_read(root: Path, arguments: dict[str, object], text: str) -> None:
    assert await use(DocumentRoots([root]), "read", **arguments) == ToolResult(text)


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "docs/../../secret.txt",
        "/etc/passwd",
        "docs/more/../a.txt",
        ".hidden",
        "docs",
        "",
        "a.txt\x00",
        "~/a.txt",
    ],
)
@pytest.mark.parametrize("tool", ["read", "grep"])
async def test_no_other_path_is_opened(root: Path, tool: str, path: str) -> None:
    result = await use(DocumentRoots([root]), tool, path=path, pattern="e")
    assert result.failed
    assert "There is no document" in result.text


async def test_an_absolute_path_is_none_even_to_a_document(root: Path) -> None:
    assert (await use(DocumentRoots([root]), "read", path=str(root / "a.txt"))).failed


async def test_only_the_documents_of_the_task_are_seen(root: Path) -> None:
    documents = DocumentRoots([root])
    names = ["docs/a.txt"]
    assert (await use(documents, "glob", names, pattern="*")).text == "docs/a.txt"
    assert (await use(documents, "read", names, path="docs/more/b.txt")).failed


async def test_a_file_name_that_two_documents_have_is_not_guessed(root: Path) -> None:
    (root / "more" / "a.txt").write_text("x", encoding="utf-8")
    documents = DocumentRoots([root])
    assert (await use(documents, "read", path="more/a.txt")).text == "x"
    assert (await use(documents, "read", path="docs/a.txt")).text.startswith("one")


@pytest.mark.parametrize("arguments", [{"start": 0}, {"limit": 0}, {"start": "many"}])
async def test_numbers_that_do_not_fit_are_told(root: Path, arguments: dict[str, object]) -> None:
    assert (await use(DocumentRoots([root]), "read", path="a.txt", **arguments)).failed


async def test_a_long_reading_says_where_to_go_on(root: Path) -> None:
    lines = [f"{number:04d} " + "x" * 94 for number in range(1, 101)]
    (root / "long.txt").write_text("\n".join(lines), encoding="utf-8")
    documents = DocumentRoots([root])
    first = (await use(documents, "read", path="long.txt", start=11)).text
    shown, told = first.rsplit("\n", 1)
    assert len(shown) == MOST_CHARS
    assert told == "(cut here; go on from line 51)"
    assert (await use(documents, "read", path="long.txt", start=51)).text.startswith("0051")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("TWO", "2: Two"),
        ("e", "1: one\n3: three"),
        (".", "(no line holds this text)"),
        ("[", "(no line holds this text)"),
    ],
)
async def test_grep_takes_the_text_as_it_is(root: Path, pattern: str, found: str) -> None:
    documents = DocumentRoots([root])
    assert await use(documents, "grep", pattern=pattern, path="a.txt") == ToolResult(found)


async def test_grep_is_bounded(root: Path) -> None:
    lines = ["x" * 3000 + "needle" + "y" * 3000] * 25
    (root / "long.txt").write_text("\n".join(lines), encoding="utf-8")
    text = (await use(DocumentRoots([root]), "grep", pattern="needle", path="long.txt")).text
    rows = text.split("\n")
    assert rows[-1] == "(5 more lines)"
    assert len(rows) == 21
    assert all("needle" in row and len(row) < LONGEST_ROW + 30 for row in rows[:-1])
    assert (await use(DocumentRoots([root]), "grep", pattern="", path="long.txt")).failed
