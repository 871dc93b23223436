"""Blocks of a skill, and the skill without some of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.blocks import blocks, without
from skillopt_cli.core.skill import SkillDocument

TEXT = """\
---
name: x
---
# Title

Intro on
two lines.

## Rules

- one
  goes on
- two
  - two a

    a paragraph of two a
  - two b
1. three

After.

## Code
```sh
# no heading

- no item
```
<!-- APPENDIX_START -->
- fixed
<!-- APPENDIX_END -->
## End

Last.
"""
SKILL = SkillDocument(TEXT)


def named(line: str) -> str:
    """The text without the block of this first line."""
    (block,) = [b for b in blocks(SKILL) if b.line == line]
    return without(SKILL, [block]).text


def test_a_text_falls_into_sections_items_and_paragraphs() -> None:
    found = [(b.kind, b.line) for b in blocks(SKILL)]
    assert found == [
        ("section", "# Title"),
        ("paragraph", "Intro on"),
        ("section", "## Rules"),
        ("item", "- one"),
        ("item", "- two"),
        ("item", "- two a"),
        ("item", "- two b"),
        ("item", "1. three"),
        ("paragraph", "After."),
        ("section", "## Code"),
        ("paragraph", "```sh"),
        ("section", "## End"),
        ("paragraph", "Last."),
    ]


def test_an_item_goes_with_what_belongs_to_it() -> None:
    assert named("- two") == TEXT.replace(
        "- two\n  - two a\n\n    a paragraph of two a\n  - two b\n", ""
    )
    gone = "  - two a\n\n    a paragraph of two a\n"
    assert named("- two a") == TEXT.replace(gone, "")


def test_a_section_ends_at_the_next_heading_of_its_level_and_leaves_protected_regions() -> None:
    assert named("## Rules") == TEXT[: TEXT.index("## Rules")] + TEXT[TEXT.index("## Code") :]
    front = TEXT[: TEXT.index("# Title")]
    region = TEXT[TEXT.index("<!-- APPENDIX_START") : TEXT.index("## End")]
    assert named("# Title") == f"{front}\n{region}"


def test_a_blank_line_that_keeps_two_blocks_apart_stays() -> None:
    assert named("1. three") == TEXT.replace("1. three\n", "")
    joined = SkillDocument("- a\n- b\n\nText.\n")
    (_, item, _) = blocks(joined)
    assert without(joined, [item]).text == "- a\n\nText.\n"


def test_blocks_hold_those_in_them() -> None:
    found = {b.line: b for b in blocks(SKILL)}
    assert found["# Title"].holds(found["Last."])
    assert found["- two"].holds(found["- two b"])
    assert not found["- two b"].holds(found["- two"])
    assert not found["- one"].holds(found["- two"])


@pytest.mark.parametrize("text", ["", "\n\n", "x", "# A\r\n\r\n- b\r\n", "```\nnever closed\n# a"])
def test_odd_texts_are_kept_too(text: str) -> None:
    skill = SkillDocument(text)
    assert without(skill, ()).text == text
    for block in blocks(skill):
        assert len(without(skill, [block]).text) < len(text)


LINES = st.sampled_from([
    "# A",
    "## B",
    "- item",
    "  - inner",
    "\t3) deep",
    "text",
    "    indented",
    "",
    " \t",
    "```",
    "~~~",
    "\x0b",
    "a\u2028b",
    "<!-- SLOW_UPDATE_START -->\nx\n<!-- SLOW_UPDATE_END -->",
    "-",
    "#",
])
ENDS = st.sampled_from(["\n", "\r\n", "\n\n"])


@st.composite
def skills(draw: st.DrawFn) -> SkillDocument:
    region = "<!-- SLOW_UPDATE"
    text = ""
    for line in draw(st.lists(LINES, max_size=14)):
        if region not in line or region not in text:
            text += line + draw(ENDS)
    front = draw(st.sampled_from(["", "---\na: b\n---\n"]))
    return SkillDocument(front + (text if draw(st.booleans()) else text.rstrip("\r\n")))


@given(skills())
def test_removing_none_gives_the_text_byte_for_byte(skill: SkillDocument) -> None:
    assert without(skill, ()) == skill


@given(skills(), st.data())
def test_removing_some_keeps_every_region_and_only_shortens(
    skill: SkillDocument, data: st.DataObject
) -> None:
    found = blocks(skill)
    gone = data.draw(st.lists(st.sampled_from(found), unique=True)) if found else []
    rest = without(skill, gone)
    assert [r.inner for r in rest.regions] == [r.inner for r in skill.regions]
    lines = iter(skill.text.split("\n"))
    assert all(any(line == other for other in lines) for line in rest.text.split("\n")[:-1])
    assert (rest.text == skill.text) == (not gone)
    if len(gone) == len(found):
        assert not rest.has_instructions
