"""diff-skills: what differs, where the texts come from, and what of it was protected."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.reports.diff.named_skill import named_skill
from skillopt_cli.reports.diff.patch import document, patch_text
from skillopt_cli.reports.diff.skill_diff import SkillDiff, compare, diff_skills
from skillopt_cli.reports.diff.terminal import Screen, words_text

REGION = "<!-- APPENDIX_START -->\n- note\n<!-- APPENDIX_END -->\n"


def drawn(diff: SkillDiff) -> str:
    stream = io.StringIO()
    Console(file=stream, width=100, color_system=None, force_terminal=True).print(Screen(diff))
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
    assert patch_text(diff) == (
        "--- a\n+++ b\n@@ -1,3 +1,4 @@\n # Rules\n - one\n-- two\n+- 2\n+- three\n"
    )
    assert diff.headline == "2 lines added, 1 removed; 26 characters (+6)"
    assert document(diff)["diff"] == patch_text(diff)
    assert document(diff)["protected"] == {}
    assert document(diff)["blocks"] == [
        {
            "a_start": 3,
            "removed": ["- two"],
            "b_start": 3,
            "added": ["- 2", "- three"],
            "protected": [],
            "causes": [],
        }
    ]


def test_equal_texts() -> None:
    diff = compare(("a", "x\n"), ("b", "x\n"))
    assert (patch_text(diff), document(diff)["equal"]) == ("", True)
    assert "the skills are equal" in drawn(diff)


def test_a_missing_line_end_is_a_difference() -> None:
    diff = compare(("a", "x\n"), ("b", "x"))
    assert patch_text(diff).endswith("-x\n+x\n\\ No newline at end of file\n")
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
    assert moved.headline.endswith("; protected regions equal")


def test_unpaired_markers_leave_the_diff_readable() -> None:
    diff = compare(("a", "x\n"), ("b", "x\n<!-- APPENDIX_START -->\n"))
    assert diff.protected is None
    assert diff.added == 1
    assert "markers do not pair up" in diff.headline


def test_names_on_the_command_line(run_folder: Path) -> None:
    for name, text in (("", "best\n"), (":best", "best\n"), (":seed", "seed\n"), (":3", "three\n")):
        named = named_skill(f"{run_folder}{name}")
        assert (named.text, named.run) == (text, run_folder)
    diff = diff_skills(named_skill(f"{run_folder}:seed"), named_skill(f"{run_folder}:3"))
    assert patch_text(diff).splitlines()[3:] == ["-seed", "+three"]


def test_a_file_whose_name_holds_a_colon(tmp_path: Path) -> None:
    (tmp_path / "a:3").write_text("odd\r\n", newline="")
    named = named_skill(str(tmp_path / "a:3"))
    assert (named.text, named.run) == ("odd\r\n", None)


@pytest.mark.parametrize("which", ["7", "last", "-1", "٣", ""])
def test_unknown_parts_of_a_run(run_folder: Path, which: str) -> None:
    with pytest.raises(UsageError) as caught:
        named_skill(f"{run_folder}:{which}")
    assert caught.value.hint


def test_missing_files(tmp_path: Path) -> None:
    for name in (str(tmp_path / "nothing.md"), str(tmp_path), ":best", ""):
        with pytest.raises(UsageError):
            named_skill(name)


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "skill.md"
    path.write_bytes(b"ok \xff")
    with pytest.raises(DataError, match="not UTF-8"):
        named_skill(str(path))


def test_markup_and_escape_codes_are_shown_not_obeyed() -> None:
    text = drawn(compare(("[/]", "a\n"), ("b", "[bold]x[/bold]\x1b[31m\n\tindented\n")))
    assert "+[bold]x[/bold]?[31m" in text
    assert "--- [/]" in text
    assert "\x1b" not in text


def test_words_are_marked_inside_lines_that_say_nearly_the_same() -> None:
    old = "# Rules\n- Give the year in four digits.\n- Be brief.\n"
    new = "# Rules\n- Give the year in two digits.\n- Never guess at all.\n"
    diff = compare(("a", old), ("b", new))
    assert words_text(diff).splitlines()[3:6] == [
        " # Rules",
        "- Give the year in [-four-]{+two+} digits.",
        "[-- Be brief.-]",
    ]
    lines = Screen(diff).texts()
    shown = {line.plain: line for line in lines}
    changed = shown["-- Give the year in four digits."]
    (words,) = [span for span in changed.spans if "reverse" in str(span.style)]
    assert changed.plain[words.start : words.end] == "four"
    assert not [s for s in shown["-- Be brief."].spans if "reverse" in str(s.style)]


def test_removed_lines_come_before_added_ones_as_in_a_patch() -> None:
    diff = compare(("a", "one rule\ntwo rules\n"), ("b", "one rule!\ntwo rules!\n"))
    signs = [line.plain[0] for line in Screen(diff).texts()][3:-1]
    assert signs == ["-", "-", "+", "+"]
    assert drawn(diff).splitlines()[2:7] == patch_text(diff).splitlines()[2:]


def test_very_long_changes_are_not_paired() -> None:
    old, new = ("".join(f"{word} {i}\n" for i in range(300)) for word in ("old", "new"))
    assert words_text(compare(("a", old), ("b", new))).count("[-old 7-]") == 1


def test_an_empty_line_that_comes_or_goes_is_seen() -> None:
    assert "\n{++}\n" in words_text(compare(("a", "x\n"), ("b", "x\n\n")))
    assert "\n[--]\n" in words_text(compare(("a", "x\n\n"), ("b", "x\n")))


def test_protected_lines_are_marked() -> None:
    other = REGION.replace("note", "other")
    diff = compare(("a", "rule\n" + REGION), ("b", "rules\n" + other))
    shown = drawn(diff).splitlines()
    at = shown.index("# in the protected region APPENDIX")
    assert shown[at + 1 : at + 3] == ["-- note", "+- other"]
    first, second = document(diff)["blocks"]
    assert (first["protected"], second["protected"]) == ([], ["APPENDIX"])
    (marker,) = [t for t in Screen(diff).texts() if t.plain == " <!-- APPENDIX_START -->"]
    assert str(marker.style) == "magenta"


@given(st.text("ab \n"), st.text("ab \n"))
def test_the_blocks_turn_one_text_into_the_other(a: str, b: str) -> None:
    diff = compare(("a", a), ("b", b))
    old, new = list(diff.old), list(diff.new)
    for block in reversed(diff.blocks):
        old[block.old.start : block.old.stop] = new[block.new.start : block.new.stop]
    assert old == new


@given(st.text("ab\n"), st.text("ab\n"))
def test_counts_agree_with_the_texts(a: str, b: str) -> None:
    diff = compare(("a", a), ("b", b))
    lines_a, lines_b = (len(t.split("\n")) - (t.endswith("\n") or not t) for t in (a, b))
    assert diff.added - diff.removed == lines_b - lines_a
    assert diff.equal == (a == b)
