"""Edits: every one ends in exactly one state, and text is used byte for byte."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from skillopt_cli.core.edits import (
    OP_ALIASES,
    OPS,
    Candidate,
    Edit,
    EditState,
    apply_edits,
)
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.skill import SkillDocument

FRONT = "---\nname: reader\ndescription: reads\n---\n"
SLOW = "<!-- SLOW_UPDATE_START -->\nKeep calm.\n<!-- SLOW_UPDATE_END -->\n"
APPENDIX = "<!-- APPENDIX_START -->\n- remember rule one\n<!-- APPENDIX_END -->\n"
BODY = "# Rules\n\n- rule one\n  - detail\n- rule two\n- rule one again\n"
SKILL = SkillDocument(FRONT + BODY + "\n" + SLOW + APPENDIX)


def one(skill: SkillDocument | str, edit: Edit) -> tuple[str, EditState, str]:
    document = SkillDocument(skill) if isinstance(skill, str) else skill
    made = apply_edits(document, [edit])
    (outcome,) = made.outcomes
    assert outcome.edit is edit
    return made.skill.text, outcome.state, outcome.reason


# Each row: the edit, the state it ends in, and a word of the reason.
REFUSED: list[tuple[Edit, EditState, str]] = [
    (Edit("append", "Use \frac{a}."), "invalid", "U+000C"),
    (Edit("append", "a\rb"), "invalid", "U+000D"),
    (Edit("replace", "\x00", "- rule two"), "invalid", "U+0000"),
    (Edit("insert_after", "a\u202eb", "- rule two"), "invalid", "U+202E"),
    (Edit("replace", "x", "no such line"), "unmatched", "not occur"),
    (Edit("insert_after", "x", "no such line"), "unmatched", "not occur"),  # T13
    (Edit("delete", "", "rule three"), "unmatched", "not occur"),
    (Edit("replace", "x", "rule one"), "ambiguous", "2 times"),
    (Edit("insert_after", "x", "- rule"), "ambiguous", "3 times"),
    (Edit("delete", "", "\n"), "ambiguous", "times"),
    (Edit("replace", "x", "Keep calm."), "protected", "protected region"),
    (Edit("delete", "", "- remember rule one"), "protected", "protected region"),
    (Edit("insert_after", "x", "name: reader"), "protected", "protected region"),  # T15
    (Edit("replace", "name: other", "name: reader"), "protected", "protected region"),  # T15
    (Edit("delete", "", "---\n# Rules"), "protected", "protected region"),
    (Edit("delete", "", "again\n\n<!-- SLOW_UPDATE_START -->"), "protected", "protected region"),
    (Edit("append", "a\n<!-- APPENDIX_START -->\n"), "protected", "marker"),
    (Edit("replace", "<!--SLOW_UPDATE_END-->", "- rule two"), "protected", "marker"),
    (Edit("append", ""), "no_op", "empty"),  # T14
    (Edit("append", " \n\t\n"), "no_op", "empty"),  # T14
    (Edit("insert_after", "\n", "- rule two"), "no_op", "empty"),
    (Edit("replace", "- rule two", "- rule two"), "no_op", "same"),  # T14
    (Edit("replace", "- rule two   ", "- rule two"), "no_op", "same"),
    (Edit("insert_after", "", "- rule two"), "no_op", "empty"),
    (Edit("rewrite", "x", "- rule two"), "invalid", "unknown operation `rewrite`"),  # T14
    (Edit("", "x"), "invalid", "unknown operation"),
    (Edit("replace", "x"), "invalid", "needs a target"),
    (Edit("insert_after", "x"), "invalid", "needs a target"),
    (Edit("delete"), "invalid", "needs a target"),
    (Edit("delete", "", BODY), "invalid", "nothing would be left"),  # T15
    (Edit("append", "- rule two"), "duplicate", "already says"),
    (Edit("append", "- rule two\n  - detail\n"), "duplicate", "already says"),
]


@pytest.mark.parametrize(("edit", "state", "word"), REFUSED)
def test_a_refused_edit_leaves_the_text_as_it_was(edit: Edit, state: EditState, word: str) -> None:
    text, got, reason = one(SKILL, edit)
    assert (text, got) == (SKILL.text, state)
    assert word in reason


APPLIED = [
    # T12: leading spaces, trailing spaces, tabs and line ends stay as the optimizer wrote them.
    (
        Edit("replace", "  - better detail", "  - detail"),
        BODY.replace("  - detail", "  - better detail"),
    ),
    (Edit("replace", "\t* tab  ", "  - detail"), BODY.replace("  - detail", "\t* tab  ")),
    (Edit("replace", "- rule 2\r\n", "- rule two\n"), BODY.replace("- rule two\n", "- rule 2\r\n")),
    (Edit("replace", "", "  - detail\n"), BODY.replace("  - detail\n", "")),
    (
        Edit("replace", "- 1\n- 2", "rule one\n  - detail\n- rule two"),
        "# Rules\n\n- - 1\n- 2\n- rule one again\n",
    ),
    (
        Edit("insert_after", "  - more", "  - detail"),
        BODY.replace("  - detail\n", "  - detail\n  - more\n"),
    ),
    # The anchor may be a part of its line, and may hold the line end.
    (
        Edit("insert_after", "  - more\n", "detail"),
        BODY.replace("  - detail\n", "  - detail\n  - more\n"),
    ),
    (
        Edit("insert_after", "  - more", "  - detail\n"),
        BODY.replace("  - detail\n", "  - detail\n  - more\n"),
    ),
    (Edit("insert_after", "- end", "one again"), BODY + "- end\n"),
    (Edit("delete", "", "- rule two\n"), BODY.replace("- rule two\n", "")),
    (Edit("delete", "ignored", " again"), BODY.replace(" again", "")),
    (Edit("append", "  indented\n\n\n"), BODY + "  indented\n\n\n"),
    (Edit("append", "- new", target="ignored"), BODY + "- new\n"),
    # The same words deeper down are another instruction.
    (Edit("append", "    - detail"), BODY + "    - detail\n"),
]


@pytest.mark.parametrize(("edit", "text"), APPLIED)
def test_an_applied_edit_changes_exactly_what_it_says(edit: Edit, text: str) -> None:
    assert one(BODY, edit) == (text, "applied", "")


def test_an_append_ends_the_body_not_the_document() -> None:
    text, state, _ = one(FRONT + "A\n" + SLOW + APPENDIX, Edit("append", "B"))
    assert state == "applied"
    assert text == FRONT + "A\nB\n" + SLOW + APPENDIX


def test_an_append_to_a_text_without_a_last_line_end_starts_a_line() -> None:
    assert one("A", Edit("append", "B"))[0] == "A\nB\n"
    assert one("", Edit("append", "B"))[0] == "B\n"


def test_an_anchor_counts_only_outside_protected_regions() -> None:
    text = "- remember\n" + "<!-- APPENDIX_START -->\n- remember\n<!-- APPENDIX_END -->\n"
    assert one(text, Edit("replace", "- recall", "- remember"))[:2] == (
        text.replace("- remember", "- recall", 1),
        "applied",
    )


def test_an_anchor_that_overlaps_itself_is_ambiguous() -> None:
    assert one("a - - - b\n", Edit("replace", "x", "- -"))[1] == "ambiguous"


LINES = "# Rules\r\n\r\n- one\r\n- two\n- three\r\n"


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (Edit("replace", "- 1", "- one\n- two"), LINES.replace("- one\r\n- two", "- 1")),
        (Edit("replace", "- 1", "- two\n- three"), LINES.replace("- two\n- three", "- 1")),
        (Edit("delete", "", "\n- one\n"), LINES.replace("\r\n- one\r\n", "")),
        (Edit("delete", "", "- three\n"), LINES.replace("- three\r\n", "")),
        (Edit("insert_after", "- x\n", "- one\n- two\n"), LINES.replace("two\n", "two\n- x\n")),
    ],
)
def test_an_anchor_matches_lines_whatever_ends_them(edit: Edit, text: str, ends: str) -> None:
    target = edit.target.replace("\n", ends)
    assert one(LINES, replace(edit, target=target)) == (text, "applied", "")
    assert one(LINES + LINES, replace(edit, target=target))[1] == "ambiguous"
    plain = LINES.replace("\r\n", "\n")
    assert one(plain, replace(edit, target=target))[:2] == (text.replace("\r\n", "\n"), "applied")


def test_half_a_line_end_is_no_line_end() -> None:
    assert one("a\rb\n", Edit("replace", "x", "a\nb"))[1] == "unmatched"
    assert one("a\n\nb\n", Edit("replace", "x", "a\nb"))[1] == "unmatched"


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("Use <!--\n", Edit("append", "SLOW_UPDATE_START -->")),
        ("<!-- APPENDIX_xSTART -->\nA\n", Edit("delete", "", "x")),
        ("<!-- APPENDIX_\nA\n", Edit("replace", "START -->", "\nA")),
        # A whole new region is as little the optimizer's to make.
        (
            "A <!-- xAPPENDIX_START -->\n<!-- APPENDIX_END -",
            Edit(
                "replace",
                "APPENDIX_START -->\n<!-- APPENDIX_END --> -",
                "xAPPENDIX_START -->\n<!-- APPENDIX_END -",
            ),
        ),
        # Together they would be a front matter that swallows the body.
        ("---\na: a\n", Edit("append", "---\nB")),
        ("-- -\na:\n---\nB\n", Edit("delete", "", " ")),
        ("# A\nB\n", Edit("replace", "---\nname: x\n---\n# A", "# A")),
    ],
)
def test_pieces_of_a_marker_never_come_together(text: str, edit: Edit) -> None:
    assert one(text, edit)[:2] == (text, "protected")


@pytest.mark.parametrize("text", ["A\n<!-- APPENDIX_END -->\n", SLOW + SLOW, SLOW[:40]])
def test_a_malformed_skill_refuses_every_edit(text: str) -> None:
    edits = [Edit("append", "new"), Edit("replace", "b", "A"), Edit("delete", "", "Keep")]
    made = apply_edits(SkillDocument(text), edits)
    assert made.skill.text == text
    assert [o.state for o in made.outcomes] == ["protected"] * 3


def test_each_edit_meets_the_text_the_earlier_ones_left() -> None:
    edits = [
        Edit("append", "- rule three"),
        Edit("insert_after", "  - of three", "- rule three"),
        Edit("delete", "", "- rule two\n"),
        Edit("replace", "x", "- rule two"),
    ]
    made = apply_edits(SkillDocument(BODY), edits)
    assert [o.state for o in made.outcomes] == ["applied", "applied", "applied", "unmatched"]
    assert made.skill.text == BODY.replace("- rule two\n", "") + "- rule three\n  - of three\n"
    assert made.applied == tuple(edits[:3])


def test_the_second_of_two_equal_changes_is_a_duplicate_whatever_its_support() -> None:
    first, second = Edit("delete", "", "  - detail\n", 3), Edit("delete", "", "  - detail\n", 1)
    made = apply_edits(SkillDocument(BODY), [first, second])
    assert [o.state for o in made.outcomes] == ["applied", "duplicate"]


def test_no_edits_change_nothing() -> None:
    assert apply_edits(SKILL, []) == Candidate(SKILL, ())


def test_every_state_of_an_edit_itself_is_reached_here_and_aliases_lead_to_operations() -> None:
    reached = {state for _, state, _ in REFUSED} | {"applied", "appended"}
    later = {"over_budget", "not_selected", "vetoed", "unverified", "harmful"}
    later |= {"leak", "shortcut", "read_only"}
    assert reached | later == set(get_args(EditState))
    assert set(OP_ALIASES.values()) <= set(OPS)


PIECES = st.sampled_from([
    "- rule one\n",
    "  - detail\n",
    "\n",
    "# Head\n",
    "text ",
    "---\n",
    "<!--",
    " SLOW_UPDATE_START -->",
    "<!-- APPENDIX_START -->\n",
    "<!-- APPENDIX_END -->\n",
    "-->",
    "\r\n",
    "é\u2028",
])
PROSE = st.lists(PIECES, max_size=6).map("".join)
ANCHORS = st.one_of(PROSE, st.sampled_from(["rule one", "- ", "Keep calm.", "name: reader", "\n"]))
EDITS = st.builds(Edit, st.sampled_from([*OPS, "add", ""]), PROSE, ANCHORS, st.integers(0, 9))
BODIES = st.lists(
    st.sampled_from(["- rule one\n", "  - detail\n", "\n", "# Head\n", "text ", "- a b c\n"]),
    max_size=8,
).map("".join)


@st.composite
def skills(draw: st.DrawFn) -> SkillDocument:
    """Documents with any of the protected regions, in any place."""
    parts = [draw(BODIES) + "\n"]
    for region in draw(st.permutations([SLOW, APPENDIX])):
        if draw(st.booleans()):
            parts += [region, draw(BODIES)]
    front = FRONT if draw(st.booleans()) else ""
    return SkillDocument(front + "".join(parts))


def kept(skill: SkillDocument) -> list[tuple[str, str]]:
    return [(region.name, skill.text[region.start : region.end]) for region in skill.regions]


@settings(max_examples=120)
@given(skills(), st.lists(EDITS, max_size=6))
def test_any_edits_to_any_skill(skill: SkillDocument, edits: list[Edit]) -> None:
    before = kept(skill)
    made = apply_edits(skill, edits)
    assert [o.edit for o in made.outcomes] == edits
    assert kept(made.skill) == before
    assert made.skill == skill or made.skill.has_instructions
    assert bool(made.applied) or made.skill == skill
    for outcome in made.outcomes:
        assert outcome.state in get_args(EditState)
        assert bool(outcome.reason) == (outcome.state != "applied")


@settings(max_examples=100)
@given(skills(), EDITS)
def test_only_an_applied_edit_changes_the_text_and_then_by_its_own_bytes(
    skill: SkillDocument, edit: Edit
) -> None:
    text, state, _ = one(skill, edit)
    if state != "applied":
        assert text == skill.text
        return
    assert text != skill.text
    if edit.op in ("append", "insert_after"):
        at = text.find(edit.content)
        assert at >= 0
        # Nothing but the new text and the line ends around it was added, and nothing was lost.
        assert len(text) - len(skill.text) - len(edit.content) in (0, 1, 2)
    elif edit.op == "replace":
        assert text.replace(edit.content, "", 1) or not edit.content
        assert edit.content in text
        assert_gone(skill.text, edit.target, len(text) - len(edit.content))
    else:
        assert_gone(skill.text, edit.target, len(text))


def assert_gone(before: str, target: str, left: int) -> None:
    """Just the target is gone, with line ends as the text has them."""
    returns = min(target.count("\n"), before.count("\r"))
    assert -target.count("\r") <= len(before) - left - len(target) <= returns


@settings(max_examples=100)
@given(st.text(max_size=60), st.lists(st.builds(Edit, st.sampled_from(OPS), st.text(), st.text())))
@example("\ud800", [Edit("append", "\udfff", "\ud800")])
@example("---\n", [Edit("append", "---")])
def test_nothing_makes_it_raise(text: str, edits: list[Edit]) -> None:
    made = apply_edits(SkillDocument(text), edits)
    assert len(made.outcomes) == len(edits)
    assert made.skill.digest


@settings(max_examples=120)
@given(PROSE, st.lists(EDITS, max_size=4))
def test_a_text_of_marker_pieces_is_never_made_malformed(text: str, edits: list[Edit]) -> None:
    skill = SkillDocument(text)
    try:
        before = kept(skill)
    except DataError:
        assume(False)
    assert kept(apply_edits(skill, edits).skill) == before


def test_an_insertion_without_its_place_goes_to_the_end_where_that_is_allowed() -> None:
    skill = SkillDocument("# Rules\n\n- one\n")
    edit = Edit("insert_after", "- two", "- none of these")
    assert apply_edits(skill, [edit]).outcomes[0].state == "unmatched"
    made = apply_edits(skill, [edit], append_unmatched=True)
    assert made.skill.text == "# Rules\n\n- one\n- two\n"
    assert [(o.state, o.edit) for o in made.outcomes] == [("appended", edit)]
    assert made.applied == (edit,)
    for op in ("replace", "delete"):
        lost = apply_edits(skill, [Edit(op, "x", "- none of these")], append_unmatched=True)
        assert (lost.skill, lost.outcomes[0].state) == (skill, "unmatched")
