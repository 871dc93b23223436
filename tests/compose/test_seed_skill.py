"""The skill a run starts from, and what of a skill's file is metadata and what instructions."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading_tables import rows

from skillopt_cli.backends.agents.skill_files import skill_file
from skillopt_cli.compose.seed_skill import checked_skill, read_skill, seed_skill, skill_notices
from skillopt_cli.config.env_section import EnvConfig
from skillopt_cli.core.control_characters import control_in
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.core.front_matter import front_matter, leading_metadata
from skillopt_cli.core.skill import FRONT_MATTER
from skillopt_cli.skill_folder import skill_text


def test_the_shipped_seed_an_empty_one_or_a_file() -> None:
    Path("mine.md").write_text("# Mine\n\nDo it.\n", encoding="utf-8-sig")
    assert seed_skill(EnvConfig(), "# Shipped\n").text == "# Shipped\n"
    assert seed_skill(EnvConfig(from_scratch=True, skill_init="mine.md"), "# S\n").text == ""
    assert seed_skill(EnvConfig(skill_init="mine.md"), "# S\n").text == "# Mine\n\nDo it.\n"


@pytest.mark.parametrize(
    ("shipped", "said"),
    [
        ("Be\x0cbrief.\n", "holds the control character U+000C in line 1, column 3"),
        ("---\nname: x\n\nBe brief.\n", "has front matter that has no end"),
        (None, "is NoneType, not text"),
        (b"Be brief.", "is bytes, not text"),
    ],
)
def test_the_seed_skill_of_a_benchmark_is_checked_as_well(shipped: Any, said: str) -> None:
    with pytest.raises(DataError) as caught:
        seed_skill(EnvConfig(name="sums"), shipped)
    assert caught.value.message == f"the seed skill of the benchmark `sums` {said}"
    assert caught.value.hint


def test_a_typo_in_the_path_never_starts_from_nothing() -> None:
    with pytest.raises(UsageError, match=r"mien\.md does not exist") as caught:
        read_skill(Path("mien.md"))
    assert "`env.from_scratch=true`" in caught.value.hint


@pytest.mark.parametrize("path", ["mien.md", "mien"])
def test_a_skill_that_is_not_there_is_told_before_what_would_be_wrong_with_a_file(
    path: str,
) -> None:
    env = EnvConfig(skill_init=path, editable=("SKILL.md",))
    with pytest.raises(UsageError, match=rf"{path} does not exist"):
        seed_skill(env, "# Shipped\n")
    Path(path).write_text("# Mine\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"the skill is no folder"):
        seed_skill(env, "# Shipped\n")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff\xfe\x00", r"is not UTF-8 text but UTF-16\Z"),
        ("# Notes\n".encode("utf-16"), r"is not UTF-8 text but UTF-16\Z"),
        ("# Notes\n".encode("utf-16-be"), r"is not UTF-8 text but UTF-16\Z"),
        ("# Notes\n".encode("utf-16-le"), r"is not UTF-8 text but UTF-16\Z"),
        ("# Notes\n".encode("utf-32"), r"is not UTF-8 text but UTF-32\Z"),
        (
            "# A\n\nPrüfe es.\n".encode("latin-1"),
            r"is not UTF-8 text: byte 0xFC in line 3, which is `ü` in Latin-1\Z",
        ),
        ("Use \u201cit\u201d.\n".encode("cp1252"), r"is not UTF-8 text: byte 0x93 in line 1\Z"),
        ("Häu".encode()[:-2], r"is not UTF-8 text: byte 0xC3 in line 1"),
        (b"PK\x03\x04\x00\x00", r"is not UTF-8 text\Z"),
        (bytes(range(32)), r"is not UTF-8 text\Z"),
    ],
)
def test_a_file_in_another_encoding_is_no_skill(data: bytes, said: str) -> None:
    Path("s.md").write_bytes(data)
    with pytest.raises(DataError, match=rf"s\.md {said}") as caught:
        read_skill(Path("s.md"))
    assert "Markdown" in caught.value.hint and "UTF-8" in caught.value.hint


@pytest.mark.parametrize("row", rows("9_skills"), ids=lambda row: repr(row["file"])[:60])
def test_the_table_of_skill_files(row: dict[str, Any]) -> None:
    Path("s.md").write_bytes(row["file"].encode())
    if "refused" in row:
        with pytest.raises(DataError) as caught:
            read_skill(Path("s.md"))
        assert row["refused"] in caught.value.message
        assert "s.md" in caught.value.message and caught.value.hint
        return
    skill = read_skill(Path("s.md"))
    assert skill.text == row["file"].lstrip("\ufeff")
    assert (skill.region(FRONT_MATTER) or "") == row.get("metadata", "").strip("\n")
    notices = [notice.reason for notice in skill_notices((skill, skill))]
    assert len(notices) == ("warning" in row) and row.get("warning", "") in "".join(notices)
    copy = skill_file(skill)
    assert copy is not None
    assert copy.body.strip("\n") == row["body"].strip("\n")
    (block,) = leading_metadata(copy.text)
    assert [*block.values] == row["keys"].split(", ")


# fmt: off
PIECES = [
    "---", "\n", "\r\n", "---\n", "---\n", "---\n", "name: a\n", "name: Bad_Name\n",
    "description: b\n", "description: c: d\n", "key: [1\n", "- x\n", "# H\n", "<!-- c -->", "<!--",
    "-->", " ", "\t", "\ufeff", "\u200b", "text\n", "Note: so\n", "<!-- APPENDIX_START -->",
    "<!-- APPENDIX_END -->", "\0", "\f", "\x1b[1m", "\r", "'", '"', "{a: b}\n", "!!python/name:os",
    "!!timestamp x\n", "&a [*a]\n", "2024-13-45", ": ", "? ", "...\n", "<<: x\n", "!!int x\n",
    "!!binary x\n", "\U0001f600", "\u2028", "\ud800", "[" * 300, "%YAML 1.1\n", "|\n", ">-\n  x\n",
]
# fmt: on
PATH = Path("s.md")


def check_reader(content: bytes) -> None:
    """A file is refused in our words, or is a skill of which every reader makes the same."""
    try:
        skill = checked_skill(skill_text(content, PATH), PATH)
    except DataError as error:
        assert str(PATH) in error.message or "markers" in error.message or "region" in error.message
        assert error.hint
        return
    assert skill.has_instructions
    assert not control_in(skill.text)
    assert checked_skill(skill_text(skill.text.encode(), PATH), PATH) == skill
    copy = skill_file(skill)
    assert copy is not None
    assert not control_in(copy.text)
    (block,) = leading_metadata(copy.text)
    assert block == front_matter(copy.text)
    assert block.values["name"] and block.values["description"]


@given(st.binary(max_size=60) | st.lists(st.sampled_from(PIECES) | st.text(max_size=5)))
def test_any_bytes_make_a_skill_or_a_message(content: bytes | list[str]) -> None:
    if not isinstance(content, bytes):
        content = "".join(content).encode(errors="surrogatepass")
    check_reader(content)


@pytest.mark.slow
def test_twenty_thousand_files_make_a_skill_or_a_message() -> None:
    draw = Random(18)
    for _ in range(20_000):
        text = "".join(draw.choices(PIECES, k=draw.randrange(16)))
        check_reader(
            text.encode(draw.choice(["utf-8"] * 8 + ["utf-16", "utf-32"]), "surrogatepass")
        )


def test_front_matter_without_an_end_is_refused() -> None:
    Path("s.md").write_text("---\nname: x\n\n# Skill\n\nAnswer.\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"front matter of the skill file s\.md has no end"
    ) as caught:
        read_skill(Path("s.md"))
    assert "`---`" in caught.value.hint
    Path("s.md").write_text("---\nname: x\n---\n\nAnswer.\n\n---\n\nMore.\n", encoding="utf-8")
    assert read_skill(Path("s.md")).has_instructions


def test_a_folder_is_not_a_skill() -> None:
    Path("run").mkdir()
    with pytest.raises(UsageError, match="run is a folder") as caught:
        read_skill(Path("run"))
    assert "best_skill.md" in caught.value.hint
    Path("run/notes.md").touch()
    with pytest.raises(UsageError) as caught:
        read_skill(Path("run"))
    assert caught.value.hint == f"put one there, or name a file, such as {Path('run/notes.md')}"


@pytest.mark.parametrize("data", [b"", b" \n", b"\xff\xfe\x00", b"---\nname: x\n---\n"])
def test_a_file_without_instructions_is_a_fault_of_the_data(data: bytes) -> None:
    Path("s.md").write_bytes(data)
    with pytest.raises(DataError, match=r"s\.md"):
        read_skill(Path("s.md"))
