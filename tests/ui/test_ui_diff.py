"""diff-skills: what differs, where the texts come from, and what of it was protected."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.ui.diff import compare, diff_skills, read_skill

REGION = "<!-- APPENDIX_START -->\n- note\n<!-- APPENDIX_END -->\n"


def drawn(part: object) -> str:
    stream = io.StringIO()
    Console(file=stream, width=100, color_system=None, force_terminal=True).print(part)
    return stream.getvalue()


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    run = tmp_path / "run"
    (run / "skills").mkdir(parents=True)
    (run / "best_skill.md").write_text("best\n")
    (run / "skills" / "step_0000.md").write_text("seed\n")
    (run / "skills" / "step_0003.md").write_text("three\n")
    return run


def test_a_diff_in_numbers_and_text() -> None:
    diff = compare(("a", "# Rules\n- one\n- two\n"), ("b", "# Rules\n- one\n- 2\n- three\n"))
    assert (diff.added, diff.removed) == (2, 1)
    assert diff.text == (
        "--- a\n+++ b\n@@ -1,3 +1,4 @@\n # Rules\n - one\n-- two\n+- 2\n+- three\n"
    )
    assert diff.headline == (
        "2 lines added, 1 removed; 26 characters (+6); protected regions untouched"
    )
    assert diff.document["diff"] == diff.text
    assert diff.document["protected"] == {}


def test_equal_texts() -> None:
    diff = compare(("a", "x\n"), ("b", "x\n"))
    assert (diff.text, diff.document["equal"]) == ("", True)
    assert "the skills are equal" in drawn(diff)


def test_a_missing_line_end_is_a_difference() -> None:
    diff = compare(("a", "x\n"), ("b", "x"))
    assert diff.text.endswith("-x\n+x\n\\ No newline at end of file\n")
    assert (diff.added, diff.removed) == (1, 1)


def test_lines_end_at_line_feeds_only() -> None:
    assert compare(("a", "x\u2028y\n"), ("b", "x\u2028z\n")).removed == 1


def test_protected_regions() -> None:
    plain, noted = "rule\n", "rule\n" + REGION
    assert compare(("a", plain), ("b", noted)).protected == {"APPENDIX": "added"}
    assert compare(("a", noted), ("b", plain)).protected == {"APPENDIX": "removed"}
    other = noted.replace("note", "other")
    changed = compare(("a", noted), ("b", other))
    assert changed.protected == {"APPENDIX": "changed"}
    assert "protected regions touched: APPENDIX changed" in changed.headline
    moved = compare(("a", noted), ("b", "new rule\n" + noted))
    assert moved.protected == {}


def test_unpaired_markers_leave_the_diff_readable() -> None:
    diff = compare(("a", "x\n"), ("b", "x\n<!-- APPENDIX_START -->\n"))
    assert diff.protected is None
    assert diff.added == 1
    assert "markers do not pair up" in diff.headline


def test_names_on_the_command_line(run_folder: Path) -> None:
    assert read_skill(str(run_folder)) == "best\n"
    assert read_skill(f"{run_folder}:best") == "best\n"
    assert read_skill(f"{run_folder}:seed") == "seed\n"
    assert read_skill(f"{run_folder}:3") == "three\n"
    diff = diff_skills(f"{run_folder}:seed", f"{run_folder}:3")
    assert diff.lines[3:] == ("-seed", "+three")


def test_a_file_whose_name_holds_a_colon(tmp_path: Path) -> None:
    (tmp_path / "a:3").write_text("odd\r\n", newline="")
    assert read_skill(str(tmp_path / "a:3")) == "odd\r\n"


@pytest.mark.parametrize("which", ["7", "last", "-1", "٣", ""])
def test_unknown_parts_of_a_run(run_folder: Path, which: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_skill(f"{run_folder}:{which}")
    assert caught.value.hint


def test_missing_files(tmp_path: Path) -> None:
    for name in (str(tmp_path / "nothing.md"), str(tmp_path), ":best", ""):
        with pytest.raises(UsageError):
            read_skill(name)


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "skill.md"
    path.write_bytes(b"ok \xff")
    with pytest.raises(DataError, match="not UTF-8"):
        read_skill(str(path))


def test_markup_and_escape_codes_are_shown_not_obeyed() -> None:
    text = drawn(compare(("[/]", "a\n"), ("b", "[bold]x[/bold]\x1b[31m\n\tindented\n")))
    assert "+[bold]x[/bold]?[31m" in text
    assert "--- [/]" in text
    assert "\x1b" not in text


@given(st.text("ab\n"), st.text("ab\n"))
def test_counts_agree_with_the_texts(a: str, b: str) -> None:
    diff = compare(("a", a), ("b", b))
    lines_a, lines_b = (len(t.split("\n")) - (t.endswith("\n") or not t) for t in (a, b))
    assert diff.added - diff.removed == lines_b - lines_a
    assert (diff.lines == ()) == (a == b)
