"""Rewrites: protected regions come back whole, and a failed proposal is never a candidate."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skillopt_cli.core.edits import REWRITE, SUGGEST, Edit, Rewrite, apply_edits
from skillopt_cli.core.rewrite import adopt, has_open_fence, sort_suggestions
from skillopt_cli.core.skill import (
    APPENDIX,
    FRONT_MATTER,
    MARKER,
    SLOW_UPDATE,
    SkillDocument,
    restored,
)

FRONT = "---\nname: qa\n---\n"
GUIDANCE = "<!-- SLOW_UPDATE_START -->\n- keep calm\n<!-- SLOW_UPDATE_END -->"
NOTES = "<!-- APPENDIX_START -->\n- note one\n<!-- APPENDIX_END -->"
SKILL = SkillDocument(f"{FRONT}\n# Title\n\n- one\n- two\n\n{GUIDANCE}\n\n{NOTES}\n")
EDITS = (Edit(SUGGEST, "Say less.", "Brevity"), Edit(SUGGEST, "Say it once.", "Repeats"))


def regions(skill: SkillDocument) -> list[tuple[str, str]]:
    return [
        (r.name, r.inner.rstrip("\r\n") if r.name == FRONT_MATTER else skill.text[r.start : r.end])
        for r in skill.regions
    ]


@pytest.mark.parametrize(
    "text",
    [
        "# Title\n\n- new\n",  # dropped
        f"{FRONT}\n# Title\n\n- new\n\n{GUIDANCE}\n\n{NOTES}\n",  # kept
        f"{GUIDANCE}\n# Title\n{NOTES}\n\n- new\n{FRONT}",  # moved
        f"{FRONT}{FRONT}\n# Title\n\n- new\n{GUIDANCE}\n{GUIDANCE}\n{NOTES}\n{NOTES}\n",  # twice
        "---\nname: other\n---\n# Title\n\n- new\n" + GUIDANCE.replace("calm", "quick"),  # altered
        "# Title\n\n- new\n\n<!-- SLOW_UPDATE_START -->\n- keep calm\n",  # not closed
        "# Title\n\n- new\n- keep calm\n<!-- SLOW_UPDATE_END -->\n<!-- APPENDIX_START -->\n",
        "# Title\n\n- new\n<!-- SLOW_UP<!-- APPENDIX_END -->DATE_START -->\n",  # a marker in two
        f"<!-- APPENDIX_START -->{GUIDANCE}<!-- APPENDIX_END -->\n# Title\n\n- new\n",  # nested
        "\n# Title\n\n- new\n- keep calm\n\n\n",  # without its markers
    ],
)
def test_regions_survive_whatever_a_rewrite_did_to_them(text: str) -> None:
    new = restored(SKILL, text)
    assert regions(new) == regions(SKILL)
    assert "- new" in new.body
    assert "keep calm" not in new.body
    lines = [line for line in new.text.splitlines() if line]
    assert lines[:5] == [*FRONT.splitlines(), "# Title", "- new"]
    assert new.text.endswith(f"{GUIDANCE}\n\n{NOTES}\n")


PIECES = [
    FRONT,
    "---\n",
    GUIDANCE,
    NOTES,
    "<!-- SLOW_UPDATE_START -->",
    "<!-- SLOW_UPDATE_END -->",
    "<!--APPENDIX_START-->",
    "<!-- APPENDIX_END  -->",
    "<!-- SLOW_UP",
    "DATE_START -->",
    "- keep calm\n",
    "\n",
    "\r\n",
    "  ",
    "# Title\n",
    "- one\n",
    "```\n",
    "x",
]
ANY = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@st.composite
def skills(draw: st.DrawFn) -> SkillDocument:
    words = st.sampled_from(["", "# Title\n", "- one\n\n", "a\r\nb\n", "no end", "\n\n"])
    inner = st.sampled_from(["", "\n", "\n- keep calm\n", "x", "\n- one\n", "\n```\n"])
    names = draw(st.permutations([SLOW_UPDATE, APPENDIX]))[: draw(st.integers(0, 2))]
    parts = [draw(st.sampled_from(["", FRONT, "---\na: b\n---", "---\r\na: b\r\n---\r\n"]))]
    if parts[0].endswith("-"):
        parts.append(draw(st.sampled_from(["", "\n"])))
    if not parts[0].endswith("-") or parts[1]:
        for name in names:
            parts.append(draw(words))
            parts.append(f"<!-- {name}_START -->{draw(inner)}<!-- {name}_END -->")
        parts.append(draw(words))
    return SkillDocument("".join(parts))


@settings(max_examples=400)
@given(skills(), ANY)
@example(SkillDocument("<!-- SLOW_UPDATE_START -->x<!-- SLOW_UPDATE_END -->"), "x\r\n")
def test_any_rewrite_of_any_skill_leaves_its_regions(skill: SkillDocument, text: str) -> None:
    new = restored(skill, text)
    assert regions(new) == regions(skill)
    assert not MARKER.search(new.body)
    assert restored(skill, new.text).text == new.text  # nothing is left to put right


@given(st.text(st.sampled_from("- ab\n\t`#"), max_size=40))
def test_without_regions_a_rewrite_is_taken_to_the_letter(text: str) -> None:  # T12
    assert restored(SkillDocument("# Skill\n"), text).text.endswith(text.removeprefix("---\n"))


def test_a_nested_bullet_stays_nested() -> None:  # T12
    text = "# Title\n\n- one\n  - nested\n\t- deeper\n"
    assert adopt(SkillDocument("# Title\n"), Rewrite(text), EDITS).skill.text == text
    assert "- one\n  - nested\n" in adopt(SKILL, Rewrite(text), EDITS).skill.text


def test_a_region_amid_the_text_stays_below_its_line() -> None:
    skill = SkillDocument(f"# A\n\n{GUIDANCE}\n\n# B\n\n{NOTES}\n\n- last\n")
    new = restored(skill, "# A\n# B\n\n  - nested\n- last\n")
    assert new.text == f"# A\n\n{GUIDANCE}\n\n# B\n\n{NOTES}\n\n  - nested\n- last\n"
    lost = restored(skill, "# C\n")
    assert lost.text == f"# C\n\n{GUIDANCE}\n\n{NOTES}\n\n"


def test_a_rule_at_the_top_of_a_skill_without_front_matter_is_text() -> None:
    text = "---\n# New\n---\n- one\n"
    assert restored(SkillDocument("# Old\n"), text) == SkillDocument(text)
    assert SkillDocument(text).regions == ()


@pytest.mark.parametrize("block", ["name: new\n---\n", "name: a: b\n---\n", "name: new\n\n"])
def test_a_rewrite_makes_no_front_matter(block: str) -> None:
    new = restored(SkillDocument("# Old\n"), f"---\n{block}- one\n")
    assert new.text == f"{block}- one\n"
    assert new.regions == ()


def test_an_adopted_rewrite_applies_all_it_rests_on() -> None:
    rewrite = Rewrite("# Title\n\n- less\n", ("shorter",), "because")
    candidate = adopt(SKILL, rewrite, EDITS)
    assert [o.state for o in candidate.outcomes] == ["applied", "applied"]
    assert candidate.rewrite is rewrite
    assert not candidate.refused


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "nothing would be left of the skill"),
        (" \n\t\n", "nothing would be left of the skill"),  # T14
        (f"{FRONT}{GUIDANCE}", "nothing would be left of the skill"),  # T15
        (SKILL.text, "the rewrite equals the current skill"),
        ("# Title\n- one  \n\n\n- two", "the rewrite equals the current skill"),  # T14
        ("# Title\n\n```json\n{", "the rewrite has an unclosed code fence"),  # T25
        ("# Title\n\n~~~\nx\n```\n", "the rewrite has an unclosed code fence"),
        ("# Title\n\n- \frac{a}\n", "the rewrite holds the control character U+000C"),
        ("# Title\n\n- a\x00\n", "the rewrite holds the control character U+0000"),
        ("# Title\n\n- a\u2066\n", "the rewrite holds the control character U+2066"),
    ],
)
def test_a_failed_rewrite_is_invalid_and_changes_nothing(text: str, reason: str) -> None:
    candidate = adopt(SKILL, Rewrite(text), EDITS)
    assert candidate.skill == SKILL
    assert candidate.refused == reason
    assert [(o.state, o.reason) for o in candidate.outcomes] == [("invalid", reason)] * 2
    assert candidate.applied == ()


@pytest.mark.parametrize(
    "body", ["- ```py\n  x = 1\n  ```\n", "# Title\n\n```\nnever closed\n", "~~~\nx\n```\n"]
)
def test_a_fence_the_skill_left_open_is_no_fault_of_a_rewrite(body: str) -> None:
    assert has_open_fence(body)
    made = adopt(SkillDocument(body), Rewrite(f"{body}- more\n"), EDITS)
    assert (made.refused, made.skill.text) == ("", f"{body}- more\n")


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("```\na\n```\n", False),
        ("````\n```\n````\n", False),
        ("```\n````\n", False),
        ("~~~ md\n```\n~~~\n", False),
        ("``` inline ``` code\n", False),
        ("    ```\n", False),  # an indented code block shows a fence, it opens none
        ("```\n", True),
        ("````\n```\n", True),
        ("```\n``` py\n", True),
        ("   ~~~py\n", True),
    ],
)
def test_fences(text: str, is_open: bool) -> None:
    assert has_open_fence(text) is is_open


def test_suggestions_are_sorted_before_a_rewrite_is_asked_for() -> None:
    empty = Edit(SUGGEST, " \n", "Nothing")  # T14
    marked = Edit(SUGGEST, "Move <!-- APPENDIX_START --> up.", "Markers")
    usable, refused = sort_suggestions([EDITS[0], empty, marked, EDITS[0], EDITS[1]])
    assert usable == EDITS
    assert [o.state for o in refused] == ["no_op", "protected", "duplicate"]


@pytest.mark.parametrize("op", [SUGGEST, REWRITE])
def test_proposals_of_the_rewrite_modes_are_no_edits(op: str) -> None:
    (outcome,) = apply_edits(SKILL, [Edit(op, "x", "y")]).outcomes
    assert outcome.state == "invalid"
