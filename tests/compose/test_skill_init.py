"""The skill a run starts from."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_cli.compose.skill_init import read_skill, seed_skill
from skillopt_cli.config.sections import EnvConfig
from skillopt_cli.core.errors import DataError, UsageError


def test_the_shipped_seed_an_empty_one_or_a_file() -> None:
    Path("mine.md").write_text("# Mine\n\nDo it.\n", encoding="utf-8-sig")
    assert seed_skill(EnvConfig(), "# Shipped\n").text == "# Shipped\n"
    assert seed_skill(EnvConfig(from_scratch=True, skill_init="mine.md"), "# S\n").text == ""
    assert seed_skill(EnvConfig(skill_init="mine.md"), "# S\n").text == "# Mine\n\nDo it.\n"


def test_a_typo_in_the_path_never_starts_from_nothing() -> None:
    with pytest.raises(UsageError, match=r"mien\.md does not exist") as caught:
        read_skill(Path("mien.md"))
    assert "`env.from_scratch=true`" in caught.value.hint


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"PK\x03\x04\x00\x00"])
def test_a_binary_file_is_no_skill(data: bytes) -> None:
    Path("s.md").write_bytes(data)
    with pytest.raises(DataError, match=r"s\.md is not UTF-8 text") as caught:
        read_skill(Path("s.md"))
    assert "Markdown" in caught.value.hint


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
