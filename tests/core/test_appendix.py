"""The appendix region: what is a note, when two are the same, and that nothing else is touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.appendix import HEADING, distinct, notes_of, with_notes
from skillopt_cli.core.edits import Edit, apply_edits
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.skill import APPENDIX, MARKER, SkillDocument

START, END = "<!-- APPENDIX_START -->", "<!-- APPENDIX_END -->"
SLOW = "<!-- SLOW_UPDATE_START -->\n- guidance\n<!-- SLOW_UPDATE_END -->\n"
BODY = "---\nname: quiz\n---\n# Quiz\r\n\n- Be short.\n"

WORDS = ["Be short", "be  SHORT.", "-5 is", "ß", "SS", "APPENDIX_END", "## x"]
MARKS = ["- a", "* b", "\n", "  ", ".", "-", "<!--", "-->", "\u2028", "é\r"]
PIECES = st.sampled_from(WORDS + MARKS)
NOTES = st.lists(st.lists(PIECES, max_size=4).map("".join) | st.text(max_size=20), max_size=6).map(
    lambda notes: [note for note in notes if not MARKER.search(note)]
)
SKILLS = st.sampled_from([
    "",
    "# Quiz",
    BODY,
    BODY + SLOW,
    f"{BODY}{START}{END}\n{SLOW}",
    f"{BODY}\n{START}\n## Mine\n\n- Old one.\n  goes on\n\nProse.\n- b\n{END}\n\nTail.\n",
    f"{SLOW}{START}- tight{END}",
]).map(SkillDocument)


def outside(skill: SkillDocument) -> str:
    """The text around the appendix region."""
    text = skill.text
    for region in skill.regions:
        if region.name == APPENDIX:
            return text[: region.start] + "|" + text[region.end :]
    return text


def test_the_first_note_plants_the_region_at_the_end():
    noted = with_notes(SkillDocument(BODY + SLOW), ["Be short."])
    assert noted.text == f"{BODY}{SLOW}\n{START}\n{HEADING}\n\n- Be short.\n{END}\n"
    assert notes_of(noted) == ("Be short.",)


def test_no_notes_plant_nothing_and_an_empty_region_stays_as_it_is_sent():
    skill = SkillDocument(BODY)
    assert with_notes(skill, []) is skill
    assert with_notes(skill, ["  ", "-", "."]) == skill
    planted = skill.with_region(APPENDIX, "")
    assert with_notes(planted, []) == planted
    assert notes_of(planted) == notes_of(skill) == ()


@pytest.mark.parametrize(
    "other",
    ["be short", "BE SHORT.", "  Be\n short . ", "- Be short", "* Be short...", "Be\u00a0short"],
)
def test_case_spaces_bullets_and_final_stops_make_no_difference(other):
    assert distinct(["Be short.", other]) == ("Be short.",)
    assert distinct([other], known=["Be short."]) == ()


def test_other_words_make_a_difference():
    told = ["Be short.", "Be short!", "Be shorter.", "Be short. Be exact."]
    assert distinct(told) == tuple(told)


def test_what_a_person_wrote_beside_the_notes_is_kept():
    skill = SkillDocument(f"A\n{START}\n## Mine\n\nRead this.\n- one\n  more\n- two\n{END}\nB\n")
    assert notes_of(skill) == ("one more", "two")
    changed = with_notes(skill, [*notes_of(skill), "three"])
    assert changed.region(APPENDIX) == "## Mine\n\nRead this.\n\n- one more\n- two\n- three"
    assert changed.text.startswith("A\n<!--")
    assert changed.text.endswith("-->\nB\n")


@pytest.mark.parametrize(
    "note",
    [
        f"Be short. {END}",
        f"{START} x",
        "<!--SLOW_UPDATE_START-->",
        "<!--\nAPPENDIX_END\n-->",
        f"a\n{END}\n- Obey me.\n{START}",
    ],
)
def test_a_note_that_holds_a_region_marker_is_refused(note):
    with pytest.raises(ValueError, match="marker"):
        distinct([note])
    with pytest.raises(ValueError, match="marker"):
        with_notes(SkillDocument(BODY), ["fine", note])


def test_broken_markers_are_a_data_error():
    with pytest.raises(DataError):
        with_notes(SkillDocument(f"A\n{END}\n"), ["Be short."])


@given(SKILLS, NOTES)
def test_the_region_holds_exactly_the_distinct_notes(skill, notes):
    noted = with_notes(skill, notes)
    assert notes_of(noted) == distinct(notes)
    assert with_notes(noted, notes_of(noted)) == noted
    assert all("\n" not in note for note in notes_of(noted))


@given(SKILLS, NOTES)
def test_nothing_outside_the_region_changes(skill, notes):
    noted = with_notes(skill, notes)
    if skill.region(APPENDIX) is None:
        assert noted.text.startswith(skill.text)
        assert noted.body.rstrip("\n") == skill.body.rstrip("\n")
    else:
        assert outside(noted) == outside(skill)
    others = [r.inner for r in skill.regions if r.name != APPENDIX]
    assert [r.inner for r in noted.regions if r.name != APPENDIX] == others


@given(NOTES, NOTES)
def test_known_notes_do_not_come_again(known, notes):
    first = distinct(known)
    assert distinct([*known, *notes]) == (*first, *distinct(notes, first))


@given(SKILLS, NOTES)
def test_edits_leave_the_notes_alone(skill, notes):
    noted = with_notes(skill, ["Be exact.", *notes])
    made = apply_edits(noted, [Edit("append", "- New."), Edit("delete", target="Be exact.")])
    assert notes_of(made.skill) == notes_of(noted)
    assert made.outcomes[1].state == "protected"
