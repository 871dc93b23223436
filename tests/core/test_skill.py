"""Skill documents: which parts are protected, and what a target is sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.skill import APPENDIX, FRONT_MATTER, SLOW_UPDATE, SkillDocument

SLOW = "<!-- SLOW_UPDATE_START -->{}<!-- SLOW_UPDATE_END -->"
NOTES = "<!-- APPENDIX_START -->{}<!-- APPENDIX_END -->"


def names(text: str) -> list[str]:
    return [region.name for region in SkillDocument(text).regions]


def test_regions_are_found_in_order_with_their_inner_text() -> None:
    front = "---\nname: x\n---\n"
    text = front + "A\n" + NOTES.format("\nnote\n") + "\nB\n" + SLOW.format(" ") + "\n"
    matter, notes, slow = SkillDocument(text).regions
    assert (matter.name, matter.inner) == (FRONT_MATTER, front)
    assert (notes.name, notes.inner, notes.empty) == (APPENDIX, "\nnote\n", False)
    assert (slow.name, slow.inner, slow.empty) == (SLOW_UPDATE, " ", True)
    assert text[notes.start : notes.end] == NOTES.format("\nnote\n")
    assert SkillDocument(text).body == "A\n\nB\n\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("---\nname: x\n---\nA", [FRONT_MATTER]),
        ("---\r\nname: x\r\n---\r\nA", [FRONT_MATTER]),
        ("---  \nname: x\n---", [FRONT_MATTER]),
        ("---\n---\nA", [FRONT_MATTER]),
        ("---\nname: x\n", []),  # never closed
        ("\n---\nname: x\n---\n", []),  # not at the very start
        ("--- x\nname: x\n---\n", []),
        ("---\nname: x\n ---\n", []),
        ("A\n\n---\n\nB\n\n---\n", []),  # rules of a page
        ("---\nx: <!-- APPENDIX_END -->\n---\nA", [FRONT_MATTER]),  # the matter is opaque
    ],
)
def test_front_matter_is_what_yaml_readers_take_for_it(text: str, found: list[str]) -> None:
    assert names(text) == found


@pytest.mark.parametrize(
    "marker", ["<!--APPENDIX_START-->", "<!--  APPENDIX_START\n-->", "<!-- APPENDIX_START -->"]
)
def test_spaces_in_a_marker_do_not_matter(marker: str) -> None:
    assert names(f"{marker}x<!-- APPENDIX_END -->") == [APPENDIX]


def test_other_comments_are_ordinary_text() -> None:
    assert names("<!-- appendix_start -->\n<!-- APPENDIX -->\n<!-- APPENDIX_START ->") == []


@pytest.mark.parametrize(
    "text",
    [
        "<!-- APPENDIX_START -->",
        "<!-- APPENDIX_END -->",
        "<!-- APPENDIX_END --><!-- APPENDIX_START -->",
        "<!-- APPENDIX_START --><!-- SLOW_UPDATE_END -->",
        "<!-- APPENDIX_START --><!-- APPENDIX_START --><!-- APPENDIX_END -->",
        "<!-- APPENDIX_START -->" + SLOW.format("x") + "<!-- APPENDIX_END -->",
        NOTES.format("a") + NOTES.format("b"),
        SLOW.format("") + "\n" + SLOW.format(""),
    ],
)
def test_markers_that_do_not_pair_up_are_named(text: str) -> None:
    with pytest.raises(DataError, match=r"APPENDIX|SLOW_UPDATE") as caught:
        _ = SkillDocument(text).regions
    assert caught.value.hint


def test_an_empty_region_is_not_sent_and_a_filled_one_is() -> None:
    plain = SkillDocument("# A\n\nB\n")
    planted = SkillDocument(plain.text + "\n" + SLOW.format("\n") + "\n")
    assert planted != plain
    assert planted.sent == plain
    assert planted.sent.digest == plain.sent.digest
    filled = SkillDocument(plain.text + "\n" + SLOW.format("\nnew\n") + "\n")
    assert filled.sent == filled


def test_only_the_empty_one_of_two_regions_is_left_out() -> None:
    text = "A\n" + SLOW.format("\n") + "\n" + NOTES.format("n") + "\n"
    assert SkillDocument(text).sent.text == "A\n\n" + NOTES.format("n") + "\n"


def test_empty_front_matter_is_sent_and_nothing_stays_nothing() -> None:
    assert SkillDocument("---\n---\nA").sent.text == "---\n---\nA\n"
    assert SkillDocument(SLOW.format("\n") + "\n").sent == SkillDocument("")
    assert SkillDocument("A").sent == SkillDocument("A\n")


def test_instructions_stand_outside_regions() -> None:
    assert SkillDocument("A").has_instructions
    for text in ("", " \n", "---\nname: x\n---\n", NOTES.format("note"), SLOW.format("x") + "\n"):
        assert not SkillDocument(text).has_instructions


@given(st.text(st.characters()), st.text(st.characters()))
def test_documents_are_equal_exactly_when_their_digests_are(a: str, b: str) -> None:
    one, other = SkillDocument(a), SkillDocument(b)
    assert (one == other) == (one.digest == other.digest) == (a == b)
    assert str(one) == a


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Answer briefly\n\nAs you can.\n", "Answer briefly"),
        ("---\nname: x\n---\n\n<!-- APPENDIX_START -->\n<!-- APPENDIX_END -->\n ##  Two \n", "Two"),
        ("plain words\n", "plain words"),
        ("\n#\n\n", ""),
        ("", ""),
        ("x" * 500, "x" * 100),
    ],
)
def test_the_title_is_the_first_line_that_says_something(text: str, title: str) -> None:
    assert SkillDocument(text).title == title


GUIDED = "# Rules\n\n- Answer.\n"


def test_what_regions_hold_is_shipped_as_plain_text() -> None:
    skill = SkillDocument(f"---\nname: mine\n---\n{GUIDED}")
    marked = skill.with_region(SLOW_UPDATE, "Read twice.").with_region(APPENDIX, "- Be brief.")
    assert marked.shipped() == f"{skill.text}\nRead twice.\n\n- Be brief.\n"
    assert marked.with_region(SLOW_UPDATE, "").shipped() == f"{skill.text}\n- Be brief.\n"
    example = "- Cite.\n\n<!-- worked example: t1 -->\nQ: a\nA: b\n"
    assert SkillDocument(example).shipped() == "- Cite.\n\nQ: a\nA: b\n"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a\n\n<!-- APPENDIX_START -->\n<!-- APPENDIX_END -->\n\nb\n", "a\n\nb\n"),
        ("<!-- APPENDIX_START -->\n\n<!-- APPENDIX_END -->\n\nb\n", "b\n"),
        ("a <!-- APPENDIX_START -->x<!-- APPENDIX_END --> b", "a x b"),
        ("a\r\n\r\n<!-- APPENDIX_START -->\r\nx\r\n<!-- APPENDIX_END -->\r\n", "a\r\n\r\nx\r\n"),
        # What is left must not form a mark.
        ("<!-- APP<!-- APPENDIX_START --><!-- APPENDIX_END -->ENDIX_END -->a", "a"),
        ("", ""),
        ("\n\n", "\n\n"),
    ],
)
def test_no_mark_is_shipped(text: str, plain: str) -> None:
    assert SkillDocument(text).shipped() == plain


@pytest.mark.parametrize("text", [GUIDED, GUIDED.rstrip(), f"{GUIDED}\n\n", "a\r\n", ""])
def test_a_text_that_won_nothing_is_shipped_byte_for_byte(text: str) -> None:
    placeholder = SkillDocument(text).with_region(SLOW_UPDATE, "")
    assert SkillDocument(text).shipped() == text
    assert placeholder.shipped(text) == text
    # As does one that came with regions of its own.
    own = SkillDocument(text).with_region(APPENDIX, "- Mine.").text
    assert SkillDocument(own).with_region(SLOW_UPDATE, "").shipped(own) == own
    assert SkillDocument(own).with_region(SLOW_UPDATE, "- Won.").shipped(own) != own


@given(st.text("a# \n"), st.text("b-\n"), st.text("c-\n"))
def test_what_is_shipped_can_be_trained_again(text: str, guidance: str, notes: str) -> None:
    marked = SkillDocument(text).with_region(SLOW_UPDATE, guidance).with_region(APPENDIX, notes)
    plain = SkillDocument(marked.shipped())
    assert plain.shipped() == plain.text
    assert [region.name for region in plain.regions] == []
    assert [line for line in marked.sent.text.split("\n") if line and "<!--" not in line] == [
        line for line in plain.text.split("\n") if line
    ]
    again = plain.with_region(SLOW_UPDATE, "d")
    assert again.region(SLOW_UPDATE) == "d" and again.shipped().rstrip().endswith("d")
