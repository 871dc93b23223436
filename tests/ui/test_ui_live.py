"""The panel: golden drawings, no overflow, no markup, and not too many of them."""

from __future__ import annotations

import io
import json
import re
import time
from pathlib import Path

import pytest
from facts import (
    accepted_step,
    attempts,
    begun,
    one_of_each,
    opening,
    proposing,
    rejected_step,
    saved,
    stamp,
    states,
)
from rich.cells import cell_len
from rich.console import Console
from snapshots import assert_golden

from skillopt_cli.charts.sparkline import sparkline
from skillopt_cli.core import events as ev
from skillopt_cli.core.edits import Edit, EditOutcome
from skillopt_cli.core.task import Usage
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.remaining import Schedule
from skillopt_cli.runlog.text.gate import gate_line, gate_parts
from skillopt_cli.runlog.view import RunView
from skillopt_cli.ui.json_lines import JsonLines
from skillopt_cli.ui.live import REFRESHES_PER_SECOND, LivePanel
from skillopt_cli.ui.panel import FinalPanel, PanelOptions, RunPanel
from skillopt_cli.ui.plain import PlainLines

NASTY = (
    "[bold]b[/bold] [/] [red",
    "\x1b[31mred\x1b[0m",
    "line\nbreak\r\ttab",
    "東京" * 200,
    "\ud800 \u202e \x00",
    "",
)

PLANNED = PanelOptions(schedule=Schedule(20, (30, 30, 30), 40, 4))
"""Of the run of `states`, in seconds."""


def console(width: int, height: int = 40, encoding: str = "utf-8") -> Console:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    return Console(file=stream, width=width, height=height, color_system=None, force_terminal=True)


def drawn(part: object, screen: Console) -> str:
    screen.print(part)
    screen.file.flush()
    raw: bytes = screen.file.buffer.getvalue()  # type: ignore[attr-defined]
    return raw.decode(screen.encoding)


def nasty_view(text: str) -> RunView:
    edit = Edit("replace", text, text, source="failure")
    outcomes = (EditOutcome(edit, "applied"), EditOutcome(Edit(text, text), "invalid", text))
    facts: list[ev.RunEvent] = [
        begun(run_id=text, benchmark=text, data=text, target=text, optimizer=text),
        *opening()[1:],
        *accepted_step(1),
        *proposing(2)[:-1],
        ev.CandidateMade(2, text, 1, outcomes),
        ev.StageStarted(2, "test", 5, 1, text),
        ev.Degraded(text, text),
        ev.TestMeasured(text, text, 0.5, 0.5, 1, 1),
        ev.StoppedEarly(text),
    ]
    return fold(stamp(facts))


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_golden_panels(width: int) -> None:
    parts = []
    for name, facts in states().items():
        view = fold(stamp(facts))
        panel = RunPanel(view, view.time + 2, PLANNED)
        parts.append(f"# {name}\n{drawn(panel, console(width))}")
    for name in ("finished", "barren", "failed", "interrupted"):
        view = fold(stamp(states()[name]))
        parts.append(f"# final {name}\n{drawn(FinalPanel(view), console(width))}")
    assert_golden(f"panels_{width}.txt", "\n".join(parts))


def test_rounds_of_verification_count_on_and_have_no_bar_to_run_back() -> None:
    begins = ev.StepStarted(1, 1, 1, 8, 8.0, 8, "cosine")
    first = [ev.StageStarted(1, "verify", 4, 1), *attempts(1, "verify", 4, wins=1)]
    second = [ev.StageStarted(1, "verify", 6, 1), *attempts(1, "verify", 2, wins=1)]
    ended = ev.StageFinished(1, "verify")
    edits = ev.EditsChosen(1, (Edit("append", "a"),), ())
    facts = [*opening(), begins, edits, *first, ended, ev.EditsVerified(1, 1, (), 0)]
    view = fold(stamp([*facts, *second]))
    shown = drawn(RunPanel(view, view.time), console(80))
    (row,) = (line for line in shown.splitlines() if "verify" in line)
    assert row.strip("│ ").split() == ["1/3", "verify", "2", "6", "of", "10", "attempts"]


@pytest.mark.parametrize("width", [60, 61, 79, 100, 200])
@pytest.mark.parametrize("name", states())
def test_panels_fill_the_width_and_never_more(name: str, width: int) -> None:
    view = fold(stamp(states()[name]))
    for part in (RunPanel(view, view.time), FinalPanel(view)):
        assert {cell_len(line) for line in drawn(part, console(width)).splitlines()} == {width}


@pytest.mark.parametrize("text", NASTY)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_odd_words_are_shown_not_obeyed(text: str, encoding: str) -> None:
    view = nasty_view(text)
    ended = fold(stamp([ev.RunFailed(text, text, text, 1, True)]), view)
    for part in (RunPanel(view, view.time), FinalPanel(ended)):
        shown = drawn(part, console(80, encoding=encoding))
        assert "\x1b" not in shown
        assert {cell_len(line) for line in shown.splitlines()} == {80}
    if text.startswith("[bold]"):
        assert "[bold]b[/bold] [/] [red" in drawn(RunPanel(view, view.time), console(120))


def test_a_low_screen_shows_less() -> None:
    view = fold(stamp(states()["skipped"]))
    full = drawn(RunPanel(view, view.time), console(100, height=40)).splitlines()
    low = drawn(RunPanel(view, view.time), console(100, height=16)).splitlines()
    assert len(low) < len(full)
    assert len(low) <= 16
    assert any("3  skipped" in line for line in low)


def test_an_ascii_console_gets_ascii() -> None:
    view = fold(stamp(states()["rollout"]))
    assert drawn(RunPanel(view, view.time), console(100, encoding="ascii")).isascii()


def test_remaining_time_comes_from_the_plan_or_is_not_made_up() -> None:
    view = fold(stamp(states()["started"]))
    assert "0/3  left ?" in drawn(RunPanel(view, view.time), console(100))
    assert "0/3  about 2m 30s left" in drawn(RunPanel(view, view.time, PLANNED), console(100))
    later = fold(stamp(states()["early"]))
    assert "about" not in drawn(RunPanel(later, later.time, PLANNED), console(100)).split("caps")[0]


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", states())
def test_a_usual_terminal_clips_nothing(name: str, width: int) -> None:
    view = fold(stamp(states()[name]))
    for part in (RunPanel(view, view.time + 2, PLANNED), FinalPanel(view)):
        assert "…" not in drawn(part, console(width))


@pytest.mark.parametrize("name", states())
def test_score_and_verdict_come_first(name: str) -> None:
    view = fold(stamp(states()[name]))
    lines = drawn(RunPanel(view, view.time), console(80)).splitlines()
    titles = [line[2:10].rstrip() for line in lines[1:3]]
    assert titles == (["score", "verdict"] if view.run else ["between", "spent"])


def test_rejected_edits_take_no_more_rows_than_accepted_ones() -> None:
    kept = rows(fold(stamp([*opening(), *accepted_step(1)])), "edit")
    turned_down = rows(fold(stamp([*opening(), *accepted_step(1), *rejected_step(2)])), "edit")
    assert len(turned_down) < len(kept)
    assert turned_down == [
        '2  x rejected: add "Answer with one to three words." (+1 more)',
        "2  x 2 left out: 1 above the learning rate, 1 unmatched",
    ]


def test_sparkline() -> None:
    assert sparkline([]) == ""
    assert sparkline([None, 0.0, 0.5, 1.0]) == " ▁▅█"
    assert sparkline([0.5, 0.5]) == "▄▄"
    assert sparkline([0.0, 1.0, 0.0], limit=2, plain=True) == "@."


def test_every_fact_can_be_drawn() -> None:
    panel = LivePanel(console(80), clock=lambda: 0.0, beat=False)
    with panel:
        for fact in stamp(one_of_each()):
            panel(fact)
            panel.draw()


def test_the_final_summary_stays() -> None:
    screen = console(100)
    with LivePanel(screen, clock=lambda: 0.0, beat=False) as panel:
        for fact in stamp(states()["finished"]):
            panel(fact)
    screen.file.flush()
    text = screen.file.buffer.getvalue().decode()  # type: ignore[attr-defined]
    last = text[text.rindex("╭") :]
    assert "Test: seed 0.60 (n=100), best 0.79 (n=100)" in last
    assert "Finished: 3 steps" in last


def test_a_flood_of_facts_draws_no_more_than_the_beat() -> None:
    draws = 0

    def clock() -> float:
        nonlocal draws
        draws += 1
        return 0.0

    facts = stamp(states()["finished"]) * 30
    began = time.monotonic()
    with LivePanel(console(80), clock=clock) as panel:
        for fact in facts:
            panel(fact)
    seconds = time.monotonic() - began
    # One drawing at the start and one at the end come on top of the beat.
    assert 1 <= draws <= 3 + seconds * REFRESHES_PER_SECOND


def test_a_narrow_panel_keeps_verdicts_and_tells_rejected_edits_from_kept_ones() -> None:
    rejected = drawn(RunPanel(fold(stamp(states()["skipped"])), 0.0), console(60))
    assert "gate      2  REJECT  at most 0.75 <= 0.80" in rejected
    assert 'x rejected: add "Answer' in rejected
    assert "- add" not in rejected
    accepted = drawn(RunPanel(fold(stamp([*opening(), *accepted_step(1)])), 0.0), console(60))
    assert '+ add "Answer' in accepted
    assert "data    bundled sample: train 12, selection 20, test 100" in accepted
    assert "n=20)" in accepted


def test_a_small_selection_split_is_noted_and_its_check_is_named() -> None:
    said = drawn(RunPanel(fold(stamp([begun(n_selection=8)])), 0.0), console(160))
    assert "note    8 selection tasks: scores move in steps of 0.12" in said
    assert "`skillopt data check searchqa`" in said
    narrow = drawn(RunPanel(fold(stamp([begun(n_selection=8)])), 0.0), console(80))
    assert "…" not in narrow
    assert "note " not in drawn(RunPanel(fold(stamp([begun()])), 0.0), console(160))


def spending(usd: float, **limits: object) -> RunView:
    caps = tuple((name, float(value)) for name, value in limits.items())  # type: ignore[arg-type]
    facts: list[ev.RunEvent] = [
        begun(limits=ev.Limits(4, 16, 64, caps)),
        ev.CallMade("target", "rollout", Usage(1, 900, 100), usd),
    ]
    return fold(stamp(facts))


def caps_shown(view: RunView, width: int) -> list[str]:
    lines = drawn(RunPanel(view, view.time), console(width)).splitlines()
    return [line[10:-2].rstrip() for line in lines if line[2:].startswith("caps ")]


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_all_caps_are_shown_whole_the_most_pressing_first(width: int) -> None:
    view = spending(
        4.0, max_usd=5, max_calls=1000, max_tokens=10**6, max_rollouts=5000, max_minutes=90
    )
    rows = caps_shown(view, width)
    assert ", ".join(rows).split(", ") == [
        "$4.00 of $5.00 (80%)",
        "1 of 1,000 calls",
        "1,000 of 1,000,000 tokens",
        "1 of 5,000 rollouts",
        "0.02 of 90 minutes",
    ]
    assert max(map(len, rows)) <= width - 12


def test_a_run_without_caps_or_limits_shows_none() -> None:
    assert caps_shown(spending(0.0), 100) == []
    assert "pace " not in drawn(RunPanel(spending(0.0), 0.0), console(100))


def test_the_pace_is_shown_while_a_model_is_held_back() -> None:
    def shown(*facts: ev.PaceChanged, ended: bool = False) -> list[str]:
        last = [ev.RunFinished(3, 0, None, 0)] if ended else []
        view = fold(stamp([begun(), *facts, *last]))
        lines = drawn(RunPanel(view, view.time), console(100)).splitlines()
        return [line[10:-2].rstrip() for line in lines if line[2:].startswith("pace ")]

    slow = ev.PaceChanged("p", "m", 8, 95.4, "rate limited")
    assert shown(slow) == ["8 calls in flight, 95.4 per minute, p/m"]
    assert shown(slow, ev.PaceChanged("p", "m", 64, None, "recovered")) == []
    assert shown(slow, ended=True) == []
    out = ev.PaceChanged("p", "m", 1, None, "outage: calls wait up to 10 min")
    assert shown(out) == ["outage: calls wait up to 10 min, p/m"]
    assert shown(out, ev.PaceChanged("p", "m", 64, None, "the service answers again")) == []


def rows(view: RunView, title: str, width: int = 100, now: float | None = None) -> list[str]:
    lines = drawn(RunPanel(view, view.time if now is None else now), console(width)).splitlines()
    return [line[10:-2].strip() for line in lines if line[2:].startswith(f"{title:<8}")]


def test_a_pause_is_told_with_the_way_out_and_stops_the_clock() -> None:
    view = fold(stamp(states()["paused"]))
    later = drawn(RunPanel(view, view.time + 3600), console(100))
    assert later == drawn(RunPanel(view, view.time), console(100))
    assert "paused ─" in later.splitlines()[0]
    assert "1/3  paused" in later and "2/4  paused" in later
    assert rows(view, "asked", 60) == ["paused; to go on:"]
    assert "`skillopt ctl 2026-01-31_10-30-00 resume`" in rows(view, "", 60)
    assert rows(view, "asked", 80) == [
        "paused; to go on: `skillopt ctl 2026-01-31_10-30-00 resume`"
    ]
    assert rows(fold(stamp([ev.RunContinued()]), view), "asked") == []


def test_no_pace_counts_a_pause() -> None:
    def left(*held: ev.RunEvent, pause: float) -> tuple[float | None, float | None]:
        view = fold(stamp([*states()["rollout"], *held[:1]]))
        facts = stamp(held[1:], start=view.time + pause)
        view = fold(facts, view)
        return view.stages[0].left(view.time), view.left(view.time)

    plain = left(pause=0)
    assert plain[0] is not None and plain[1] is not None
    again = left(ev.RunPaused(2, "now"), ev.RunContinued(), pause=3600)
    # The fact of the pause came one second after the last.
    assert again == (max(0.0, plain[0] - 1), plain[1] - 1)


def test_edits_that_can_be_struck_out_have_the_numbers_it_takes() -> None:
    view = fold(stamp(states()["vetoing"]))
    said = [row.split(maxsplit=1)[1] for row in rows(view, "edit")]
    assert said == [
        '? 1 add "Answer with one to three words."',
        'x 2 vetoed: replace "Answer." with "Copy the span."',
        '? 3 delete "No such line"',
    ]
    shown = drawn(RunPanel(view, view.time), console(100))
    assert re.search(r'one to three words."\s+│\n│ {16}from 5 failed attempts ', shown)
    low = drawn(RunPanel(view, view.time), console(100, height=20))
    assert "? 1 add" in low and "supported by" not in low
    assert rows(view, "asked", 60) == ["paused; strike out edits, then `resume`:"]
    assert "`skillopt ctl 2026-01-31_10-30-00 veto N`" in rows(view, "", 60)


def test_a_hint_stays_until_its_step_is_over() -> None:
    view = fold(stamp(states()["vetoing"]))
    assert rows(view, "hint") == ["2  mind the units"]
    assert rows(fold(stamp([saved(2, 0.8, 0.8, 1, 1, 9), *proposing(3)]), view), "hint") == []


def test_the_last_guidance_is_shown() -> None:
    assert rows(fold(stamp(states()["guided"])), "guide") == ["2  - keep answers short"]


def test_a_resumed_run_says_so_and_what_drifted() -> None:
    view = fold(stamp(states()["resumed"]))
    assert rows(view, "resumed") == ["1 of 3 steps recorded before"]
    assert rows(view, "changed") == ["train.seed: 42 -> 43"]


def test_no_time_is_promised_once_the_last_step_is_recorded() -> None:
    shown = drawn(RunPanel(fold(stamp(states()["skipped"])), 0.0), console(100))
    assert "3/3 │" in shown


@pytest.mark.parametrize("name", states())
@pytest.mark.parametrize("height", [20, 24])
def test_a_usual_screen_holds_the_panel(name: str, height: int) -> None:
    view = fold(stamp(states()[name]))
    shown = drawn(RunPanel(view, view.time), console(80, height=height)).splitlines()
    assert len(shown) <= height


def test_a_narrower_terminal_is_drawn_anew() -> None:
    screen = console(200)
    screen._environ = {"TERM": "xterm"}

    def frame(panel: LivePanel, width: int) -> str:
        screen.file.flush()
        before = len(screen.file.buffer.getvalue())  # type: ignore[attr-defined]
        screen.width = width
        panel.draw()
        screen.file.flush()
        told: bytes = screen.file.buffer.getvalue()[before:]  # type: ignore[attr-defined]
        return told.decode()

    with LivePanel(screen, clock=lambda: 0.0, beat=False) as panel:
        for fact in stamp(states()["gating"]):
            panel(fact)
        clear = "\x1b[2J\x1b[H"
        assert [frame(panel, width).count(clear) for width in (200, 60, 60, 200, 100)] == [
            *(0, 1, 0, 0, 1)
        ]
        drawn_last = frame(panel, 60)
        shown = drawn_last[drawn_last.index("╭") :].replace("\r", "").splitlines()
        assert {cell_len(line) for line in shown} == {60}


def test_the_panel_of_the_docs_is_one_that_is_drawn() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "watch-a-run.md"
    view = fold(stamp(states()["gating"]))
    assert drawn(RunPanel(view, view.time + 2), console(90)) in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", states())
def test_panel_lines_and_json_tell_the_same_decisions(name: str) -> None:
    facts = stamp(states()[name])
    lines, document = io.StringIO(), io.StringIO()
    plain, machine = PlainLines(lines), JsonLines(document)
    for fact in facts:
        plain(fact)
        machine(fact)
    view = fold(facts)
    decided = [json.loads(line)["event"] for line in document.getvalue().splitlines()]
    gates = [fact for fact in decided if fact["kind"] == "gate_decided"]
    shown = rows(view, "gate", 160)
    for step, told in zip(view.decided, gates, strict=True):
        assert step.gate is not None
        said, word, _ = gate_parts(step.gate.decision)
        line = f"[Step {step.number}/3] Gate: {gate_line(step.gate.decision)}"
        assert line in lines.getvalue().splitlines()
        assert (told["step"], told["decision"]["verdict"]) == (
            step.number,
            step.gate.decision.verdict,
        )
        assert any(
            row.startswith(f"{step.number}  {word}  {said.removeprefix('val score ')}")
            for row in shown
        )
