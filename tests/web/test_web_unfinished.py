"""The page of a run that broke off: its state comes first, with the way on, and no verdict."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from dom import parsed, text_of
from facts import accepted_step, begun, opening, proposing, rejected_step, stamp
from web_rig import client

from skillopt_cli.core import events as ev
from skillopt_cli.store.codec import dump_fact

RUN = "/runs/searchqa/broken off"
ENDINGS = {
    "interrupted": ev.RunFailed("Interrupted", "stopped by the user", "", 130, True),
    "failed": ev.RunFailed("AuthFailed", "the key was refused", "check `KEY`", 4, True),
    "budget": ev.RunFailed("BudgetExhausted", "all is used", "raise it", 5, True, "max_usd"),
    "killed": None,
}
TITLES = {"budget": "Budget exhausted", "failed": "Failed"}


def outputs_with(tmp_path: Path, facts: list[ev.RunEvent]) -> Path:
    """An outputs folder with one run that has these facts."""
    run = tmp_path / "outputs/searchqa/broken off"
    run.mkdir(parents=True)
    (run / "config.yaml").write_text("env:\n  name: searchqa\n", encoding="utf-8")
    lines = [dump_fact(fact) for fact in stamp(facts)]
    (run / "events.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return run.parent.parent


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_state_and_the_way_on_come_before_everything_else(tmp_path: Path, ending: str) -> None:
    fact = ENDINGS[ending]
    facts = [*opening(), *accepted_step(1), *proposing(2)[:6], *([fact] if fact else [])]
    outputs = outputs_with(tmp_path, facts)
    with client(outputs) as asking:
        page = asking.get(RUN).text
    found = parsed(page)
    status = text_of(found.find(".//p[@id='part-status']"))
    title = TITLES.get(ending, "Interrupted")
    assert status.startswith(
        f"{title} after step 1 of 3. Best skill so far: step 1, val score 0.80"
    )
    command = text_of(next(one for one in found.iter("code") if one.get("class") == "command"))
    cap = ["--max-usd", "N"] if ending == "budget" else []
    folder = outputs / "searchqa/broken off"
    assert shlex.split(command) == ["skillopt", "resume", str(folder), *cap]
    # Without a higher cap it would end again at once.
    assert ("Resume the run" in page) == (ending != "budget")
    assert "Verdict" not in page and "progress" not in page
    if fact:
        assert f"Cause: {fact.message}." in page and f"{fact.error}:" not in page


def test_an_evaluation_that_cannot_be_resumed_has_no_way_on(tmp_path: Path) -> None:
    fact = replace(ENDINGS["interrupted"] or ev.RunFailed("", "", "", 1, True), resumable=False)
    with client(outputs_with(tmp_path, [begun(total_steps=0), fact])) as asking:
        page = asking.get(RUN).text
        assert "Interrupted before its end." in page
        assert "skillopt resume" not in page and "Resume the run" not in page
        assert "Resume the run" not in asking.get(f"{RUN}/steer").text


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("undecided", [False, True])
def test_a_step_that_was_not_recorded_is_counted_nowhere(
    tmp_path: Path, ending: str, undecided: bool
) -> None:
    fact = ENDINGS[ending]
    # Decided or not, its checkpoint is missing.
    second = proposing(2) if undecided else rejected_step(2)[:-1]
    facts = [*opening(), *accepted_step(1), *second, *([fact] if fact else [])]
    with client(outputs_with(tmp_path, facts)) as asking:
        page, steer, step = (asking.get(f"{RUN}{path}").text for path in ("", "/steer", "/steps/2"))
    found = parsed(page)
    rows = {text_of(row): row for row in found.iter("tr")}
    (second_row,) = (text for text in rows if text.startswith("Step 2"))
    (first_row,) = (text for text in rows if text.startswith("Step 1"))
    words = "not recorded; a resume decides it again"
    assert (words in second_row) == (words in step) == (not undecided)
    assert words not in first_row
    chart = next(one for one in found.iter("score-chart")).attrib["aria-label"]
    counted = "" if undecided else ", step 2 not recorded"
    assert chart.startswith(f"Score curve over 1 step{counted}: seed")
    assert " after step 1 of 3. " in page
    assert "1 of 3 steps recorded" in steer and "step 2 of 3" not in steer
