"""Pruning: what is removed is not worse, and every block's removal is on record."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from scores import Target, answer, table_run

from skillopt_cli.core.events import RolloutFinished, SkillPruned
from skillopt_cli.core.score import Mark, Measured
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.runlog.pruning import pruned_words, whole_paragraph_words
from skillopt_cli.stages import measure, prune
from skillopt_cli.testing import EventLog

TEXT = """\
# Title

- needed
- useless

## Harmful

Do not.

<!-- APPENDIX_START -->
- a note
<!-- APPENDIX_END -->
"""


def outcome(skill: SkillDocument, task: str) -> Mark:
    """Tasks s0 and s1 need a line; a third is broken by another."""
    right = "needed" in skill.text if task in ("s0", "s1") else "Do not" not in skill.text
    return Mark(float(right), float(right))


def pruned(text: str, settings: Sequence[str] = ()) -> tuple[Measured, SkillPruned, EventLog]:
    target = Target(lambda skill, task: answer(outcome(skill, task)))
    run, _, log = table_run(target, ("run.workers=2", *settings), selection=3)

    async def work() -> Measured:
        return await prune(run, await measure(run, SkillDocument(text), "selection"))

    found = asyncio.run(work())
    (event,) = log.of(SkillPruned)
    return found, event, log


def test_what_is_useless_or_harmful_goes_and_what_is_needed_stays() -> None:
    found, event, _ = pruned(TEXT)
    region = TEXT[TEXT.index("<!-- APP") :]
    assert found.skill.text == f"# Title\n\n- needed\n\n{region}"
    assert (event.before, event.after) == (2 / 3, 1.0)
    assert (event.chars_before, event.chars) == (len(TEXT), len(found.skill.text))
    by_line = {block.line: block for block in event.blocks}
    assert list(by_line) == ["# Title", "- needed", "- useless", "## Harmful"]
    assert by_line["# Title"].reason == "nothing would be left"
    needed = by_line["- needed"]
    assert (needed.removed, needed.reason, needed.broke) == (False, "worse", ("s0", "s1"))
    assert by_line["## Harmful"].removed
    assert by_line["## Harmful"].fixed == ("s2",)
    assert sum(block.chars for block in event.blocks if block.removed) == len(TEXT) - event.chars


def test_the_settings_of_the_gate_do_not_matter() -> None:
    found, _, _ = pruned(TEXT)
    settings = ("evaluation.use_gate=false", "evaluation.early_reject=false")
    assert pruned(TEXT, settings)[0] == found


def test_every_removal_is_measured_in_full() -> None:
    _, event, log = pruned(TEXT)
    measured = [e for e in log.of(RolloutFinished) if e.stage == "prune"]
    tried = [block for block in event.blocks if block.gain is not None]
    assert len(measured) == 3 * len(tried)


def test_a_section_that_goes_takes_what_is_in_it_untried() -> None:
    _, event, _ = pruned("# T\n\n- needed\n\n## More\n\n- one\n- two\n")
    assert [block.line for block in event.blocks] == ["# T", "- needed", "## More"]


def test_a_removal_that_cannot_be_compared_is_not_kept() -> None:
    target = Target(
        lambda skill, task: answer(Mark(None, None) if skill.text == "- b\n" else Mark(1.0, 1.0))
    )
    run, _, log = table_run(target, selection=2)
    start = Measured(SkillDocument("- a\n- b\n"), {t: Mark(1.0, 1.0) for t in ("s0", "s1")})
    found = asyncio.run(prune(run, start))
    assert found.skill.text == "- a\n"
    (event,) = log.of(SkillPruned)
    assert event.blocks[0].reason == "too few scored attempts to compare"


@pytest.mark.parametrize(("metric", "kept"), [("hard", True), ("soft", False)])
def test_of_a_skill_that_solves_nothing_nothing_is_removed(metric: str, *, kept: bool) -> None:
    target = Target(lambda skill, task: answer(Mark(0.0, 0.4)))
    run, _, log = table_run(target, (f"evaluation.gate_metric={metric}",), selection=2)
    start = Measured(SkillDocument("- a\n- b\n"), {t: Mark(0.0, 0.4) for t in ("s0", "s1")})
    found = asyncio.run(prune(run, start))
    (event,) = log.of(SkillPruned)
    assert (found.skill.text == start.skill.text) == kept
    assert bool(log.of(RolloutFinished)) != kept, "and nothing is spent on it"
    assert ("none can be judged" in pruned_words(event)) == kept
    reasons = [block.reason for block in event.blocks if not block.removed]
    assert (reasons == ["no removal scores lower than 0"] * 2) == kept
    assert kept == all(block.chars > 0 and not block.removed for block in event.blocks)


@pytest.mark.parametrize(
    ("text", "hinted"),
    [
        ("# T\n\nneeded\nother\nthird\n", True),
        ("# T\n\nneeded\n", False),
        ("# T\n\n- needed\n- other\n", False),
    ],
)
def test_that_a_kept_paragraph_of_several_lines_was_tried_whole_is_stated(
    text: str, *, hinted: bool
) -> None:
    _, event, _ = pruned(text)
    assert ("list items" in whole_paragraph_words(event)) == hinted
