"""Plain lines: the documented style, to the letter."""

from __future__ import annotations

import io
import json

import pytest
from facts import (
    accepted_step,
    begun,
    epoch_end,
    one_of_each,
    opening,
    proposing,
    retries,
    skipped_step,
    stamp,
    states,
)
from snapshots import assert_golden

from skillopt_cli.core import events as ev
from skillopt_cli.core.edits import Edit, EditOutcome, Source, Trial
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.core.task import Usage
from skillopt_cli.runlog.fold import apply, fold
from skillopt_cli.runlog.text.gate import gate_line
from skillopt_cli.store.codec import load_fact
from skillopt_cli.ui.json_lines import JsonLines
from skillopt_cli.ui.plain import PlainLines, lines_of

SILENT = {
    ev.StepStarted,
    ev.StageFinished,
    ev.RolloutFinished,
    ev.CallMade,
    ev.CallFailed,
    ev.EditsMerged,
    ev.CheckpointSaved,
    ev.TestMeasured,
    ev.CallRetried,
    ev.JudgedTwice,
}


def written(facts: list[ev.RunEvent], *, pace: float = 1.0) -> str:
    stream = io.StringIO()
    plain = PlainLines(stream)
    for fact in stamp(facts, pace=pace):
        plain(fact)
    return stream.getvalue()


def test_verbose_lines_show_guidance_and_notes_whole() -> None:
    guidance = "\n\n".join(f"- rule {n}: {'very ' * 30}long" for n in range(3))
    decided = ev.SlowUpdateDecided(2, 1, "accept", guidance)
    notes = ev.MemoryWritten(2, 1, "first note\nsecond note")
    stream = io.StringIO()
    plain = PlainLines(stream, verbose=True)
    for fact in stamp([*opening(), decided, notes]):
        plain(fact)
    for line in (*guidance.split("\n\n"), "Meta skill: second note"):
        assert line in stream.getvalue()
    assert "second note" not in written([*opening(), decided, notes])


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("encoding", "arrow", "accept"), [("utf-8", "→", " ✓ ACCEPT"), ("ascii", "->", "  ACCEPT")]
)
def test_a_terminal_shows_signs_that_its_encoding_has(
    encoding: str, arrow: str, accept: str
) -> None:
    raw = io.BytesIO()
    stream = Terminal(raw, encoding=encoding)
    plain = PlainLines(stream)
    for fact in stamp([*opening(), *accepted_step()]):
        plain(fact)
    shown = raw.getvalue().decode(encoding)
    assert f" {arrow} Reflect..." in shown
    assert accept in shown


@pytest.mark.parametrize("name", ["finished", "barren", "failed"])
def test_golden_lines(name: str) -> None:
    assert_golden(f"plain_{name}.txt", written(states()[name]))


def test_a_rollout_states_how_many_tasks_were_solved_before() -> None:
    def line(total: int, **changes: int) -> str:
        start = begun(n_train=30, **changes)
        return written([start, ev.StageStarted(1, "rollout", total, 4)]).splitlines()[-1]

    left = "27 of 30 train tasks, 3 solved before are left out; 27 items, 4 workers..."
    assert line(27, total_steps=4, epochs=4) == f"[Step 1/4] Rollout: {left}"
    assert "29 of 30 train tasks, 1 solved before is left out; " in line(29, total_steps=1)
    assert line(30, total_steps=4, epochs=4) == "[Step 1/4] Rollout: 30 items, 4 workers..."
    # A step may be of a part of the tasks, whose size the log does not hold.
    assert line(8, total_steps=8, epochs=4) == "[Step 1/8] Rollout: 8 items, 4 workers..."


def test_a_paused_run_is_named_in_the_command_that_goes_on() -> None:
    text = written([begun(run_id="second"), ev.RunPaused(1, "now")])
    assert "paused; `skillopt ctl second resume` goes on" in text


def test_the_documented_step() -> None:
    edits = tuple(Edit("append", f"rule {i}") for i in range(4))
    decision = GateDecision("new_best", "hard", 0.68, 0.65, 0.65, 40, 40)
    text = written([
        begun(total_steps=8),
        ev.StepStarted(1, 1, 1, 8, 7.7716, 8, "cosine"),
        ev.StageStarted(1, "rollout", 20, 4),
        ev.BatchScored(1, 0.65, 0.7, 7, 20, 20),
        ev.PatchesProposed(1, 6, 4, 2, 9),
        ev.EditsMerged(1, 4),
        ev.EditsChosen(1, edits, ()),
        ev.GateDecided(1, decision, 0.68, 0.7),
    ])
    assert text.splitlines()[4:] == [
        "[Step 1/8] Rollout: 20 items, 4 workers...",
        "[Step 1/8] Score: 0.65 -> Reflect...",
        "[Step 1/8] 6 edit patches generated",
        "[Step 1/8] Selected 4 edits (lr=8, cosine -> 7.7)",
        "[Step 1/8] Gate: val score 0.68 > 0.65  ACCEPT",
    ]


def test_analyses_without_an_edit_are_no_patches() -> None:
    text = written([*opening(), ev.PatchesProposed(1, 2, 2, 0, 0)])
    assert text.endswith("] No edit proposed by 2 analyses\n")


def test_edits_that_had_no_task_to_be_tried_on_are_counted() -> None:
    trials = (Trial(Edit("append", "a"), ("t1", "t2")),)
    text = written([*opening(), ev.EditsVerified(1, 1, trials, 0, untried=5)])
    assert text.endswith(
        "Verify: 1 edit tried on failed tasks, 5 with no failed task left to be tried on, 0 kept\n"
    )


def test_edits_that_were_chosen_and_not_tried_are_counted_with_why() -> None:
    kinds: tuple[Source, ...] = ("failure", "failure", "failure", "failure", "success", "failure")
    edits = tuple(Edit("append", f"rule {i}", source=kind) for i, kind in enumerate(kinds))
    trials = (Trial(edits[0], ("t1", "t2"), ("t1",)), Trial(edits[1], ("t1",)))
    text = written([
        *opening(),
        ev.StepStarted(1, 1, 1, 8, 8.0, 8, "cosine"),
        ev.EditsChosen(1, edits, ()),
        ev.EditVetoed(1, 6, edits[5]),
        ev.EditsVerified(1, 1, trials, 2, untried=1),
    ])
    assert text.endswith(
        "Verify: 2 of 5 edits tried on failed tasks, 1 with no failed task left to be tried on,"
        " 1 from solved tasks, which need no trial, 1 without effect or not applicable alone,"
        " 2 kept\n"
    )


def test_edits_of_several_rounds_are_counted_once() -> None:
    edits = tuple(Edit("append", f"rule {i}") for i in range(3))
    outcomes = (
        EditOutcome(edits[0], "unverified", "it solved 0 of 2 tasks", Trial(edits[0], ("t1",))),
        *(EditOutcome(edit, "applied", "") for edit in edits[1:]),
    )
    text = written([
        *opening(),
        ev.StepStarted(1, 1, 1, 8, 8.0, 8, "cosine"),
        ev.EditsChosen(1, edits[:2], ()),
        ev.EditsChosen(1, edits, (), 2),
        ev.CandidateMade(1, "d", 100, outcomes),
    ])
    assert text.endswith(
        "Kept 2 of 3 different edits of 2 rounds; left out: 1 failed verification\n"
    )


def test_each_round_of_verification_and_check_has_a_line() -> None:
    edits = tuple(Edit("append", f"rule {i}") for i in range(3))
    trials = (Trial(edits[0], ("t1", "t2")),)
    rounds = [ev.StageStarted(1, "verify", 6, 4), ev.StageFinished(1, "verify")]
    facts = [
        *opening(),
        ev.StepStarted(1, 1, 1, 8, 8.0, 8, "cosine"),
        ev.EditsChosen(1, edits, ()),
        *rounds,
        *rounds,
        ev.EditsVerified(1, 1, trials, 1),
        *rounds,
        ev.EditsChosen(1, edits[:1], (), 2),
        *rounds,
        ev.EditsVerified(1, 2, trials, 1),
        ev.StageStarted(1, "check", 1, 1),
        ev.StageFinished(1, "check"),
        ev.StageStarted(1, "check", 2, 1),
    ]
    lines = [line for line in written(facts).splitlines() if "..." in line][1:]
    assert [line.removeprefix("[Step 1/3] ") for line in lines] == [
        "Verify 1: the chosen edits, 6 items, 4 workers...",
        "Verify 2: the chosen edits, 6 items, 4 workers...",
        "Verify 3: what still fails, with the edits kept, 6 items, 4 workers...",
        "Verify 4: the chosen edits, 6 items, 4 workers...",
        "Check 1: 1 item, 1 worker...",
        "Check 2: 2 items, 1 worker...",
    ]


@pytest.mark.parametrize(
    ("roles", "shown"),
    [
        ({"target": "simulated"}, "scores"),
        ({"target": "simulated/small"}, "scores"),
        ({"optimizer": "simulated"}, "edits"),
        ({"judge": "simulated"}, "verdicts"),
        ({"target": "simulated", "optimizer": "simulated"}, "scores and edits"),
        (
            dict.fromkeys(("target", "optimizer", "judge"), "simulated"),
            "scores, edits and verdicts",
        ),
    ],
)
def test_what_a_simulated_model_does_on_own_tasks_shows_nothing(
    roles: dict[str, str], shown: str
) -> None:
    note = f"on own tasks its {shown} show nothing"
    assert note in written([begun(benchmark="folder", **roles)])
    assert "show nothing" not in written([begun(**roles)])
    assert "show nothing" not in written([begun(benchmark="folder")])


def test_the_first_line_says_which_data() -> None:
    assert written([begun(data="prepared data/searchqa")]).startswith(
        "Data: prepared data/searchqa"
    )


def test_a_resume_says_what_is_recorded() -> None:
    assert "Resume: 2 of 3 steps recorded" in written([begun(done=2)])
    # Also one that was killed before anything was recorded, and in each of its processes.
    assert "Resume" not in written([begun()])
    assert written([begun(), begun()]).count("Resume: 0 of 3 steps recorded") == 1
    assert written([begun(), begun(), begun(done=1)]).count("Resume: ") == 2
    # An evaluation has no steps.
    assert "Resume" not in written([begun(total_steps=0), begun(total_steps=0)])


def test_changed_conditions_are_named_in_the_words_of_the_page() -> None:
    changes = ("train.seed: 42 -> 43", "prompt rank reads\ndifferently")
    line = "Continued although this had changed: train.seed: 42 -> 43; prompt rank reads"
    assert f"{line} differently\n" in written([ev.DriftAllowed(changes), begun()])


@pytest.mark.parametrize(
    ("decision", "line"),
    [
        (
            GateDecision("accept", "hard", 0.7, 0.65, 0.72, 20, 20),
            "val score 0.70 > 0.65  ACCEPT (best stays 0.72)",
        ),
        (GateDecision("reject", "hard", 0.65, 0.65, 0.7), "val score 0.65 <= 0.65  REJECT"),
        (
            GateDecision("reject", "hard", 0.65, 0.65, 0.7, 9, 20, early=True),
            "val score at most 0.65 <= 0.65  REJECT (settled after 9 of 20)",
        ),
        (
            GateDecision("indecisive", "hard", 0.9, 0.65, 0.7, 9, 20),
            "val coverage 9/20 is too low to compare  INDECISIVE",
        ),
        (
            GateDecision("force_accept", "hard", 0.5, 0.65, 0.7),
            "val score 0.50 (was 0.65, gate off, best stays 0.70)  FORCE_ACCEPT",
        ),
        (
            GateDecision("force_accept", "hard", 0.75, 0.65, 0.7, beats_best=True),
            "val score 0.75 (was 0.65, gate off, new best)  FORCE_ACCEPT",
        ),
        (
            GateDecision("new_best", "soft", 0.6524, 0.6511, 0.6511),
            "val score (soft) 0.652 > 0.651  ACCEPT",
        ),
        (
            GateDecision("accept", "hard", 0.65, 0.65, 0.7, tied=True),
            "val score 0.65 = 0.65  ACCEPT (not worse, best stays 0.70)",
        ),
        (
            GateDecision("accept", "hard", 0.65, 0.65, 0.65, tied=True, ties_best=True),
            "val score 0.65 = 0.65  ACCEPT (not worse, equals the best and replaces it)",
        ),
        (
            GateDecision("accept", "hard", 0.64, 0.65, 0.7, 10, 11, tied=True),
            "val score 0.64 not worse than 0.65 on the tasks both scored  ACCEPT"
            " (not worse, best stays 0.70)",
        ),
        (
            GateDecision("reject", "hard", 0.7, 0.65, 0.65, 10, 11),
            "val score 0.70 not better than 0.65 on the tasks both scored  REJECT",
        ),
        (
            GateDecision("new_best", "hard", 0.6, 0.65, 0.65, 10, 11),
            "val score 0.60 better than 0.65 on the tasks both scored  ACCEPT",
        ),
        (
            GateDecision("reject", "hard", None, 0.65, 0.65, 0, 11),
            "val score unknown not better than 0.65 on the tasks both scored  REJECT",
        ),
        (
            GateDecision("no_op", "hard", 0.6, 0.6, 0.6),
            "the candidate equals the current skill  NO_OP",
        ),
    ],
)
def test_gate_lines(decision: GateDecision, line: str) -> None:
    assert gate_line(decision) == line


def test_uncapped_and_soft_runs() -> None:
    plan = ev.StepStarted(1, 1, 1, None, 8.0, 8, "constant")
    text = written([
        begun(metric="soft"),
        plan,
        ev.BatchScored(1, 0.5, 0.61, 2, 4, 4),
        ev.EditsChosen(1, (Edit("append", "x"),), ()),
    ])
    assert "Score: 0.61 -> Reflect..." in text
    assert "Selected 1 edit (no limit)" in text


def test_retries_are_summed_up_at_most_every_half_minute_and_at_the_end() -> None:
    end = ev.RunFinished(0, 0, None, 0)
    lines = [line for line in written([begun(), *retries(100), end]).splitlines() if "Retr" in line]
    assert [line.split(" so far")[0] for line in lines] == [
        "Retries: 1",
        "Retries: 31",
        "Retries: 61",
        "Retries: 91",
        "Retries: 100",
    ]


def test_a_degraded_place_is_told_once_and_counted_at_the_end() -> None:
    facts = [begun(), *[ev.Degraded("reflect", "no answer")] * 5, ev.RunFinished(0, 0, None, 0)]
    text = written(facts)
    assert text.count("Degraded: reflect: no answer") == 1
    assert "Trouble: reflect 5 times, last: no answer\n" in text


def test_what_went_on_in_a_weaker_way_is_told_in_words() -> None:
    reason = "its program may need the network, so it is not isolated; `a=b` isolates it"
    facts = [
        *opening(),
        *skipped_step(1),
        ev.Degraded("target", reason),
        ev.Degraded("slow_update", "x" * 500),
        ev.RunFinished(1, 0, None, 0),
    ]
    lines = written(facts).splitlines()
    (trouble,) = (line for line in lines if line.startswith("Trouble: "))
    assert trouble.startswith(
        "Trouble: 1 broken attempt (most often: connection refused); reflect: no answer: the"
        " service failed; slow update: xxx"
    )
    assert trouble.endswith("xxx...")
    # Advice is no trouble.
    assert lines.count("Note: target: its program may need the network, so it is not isolated") == 1
    assert "degraded" not in trouble and len(trouble) < 400


def test_broken_attempts_are_told_once_per_stage() -> None:
    text = written([*opening(), *skipped_step(1)])
    assert text.count("Broken: 1 of 4 attempts in rollout, not scored; last: connection") == 1


def test_a_failure_is_told_as_far_as_the_error_line_does_not() -> None:
    resume = "`skillopt resume 2026-01-31_10-30-00` continues it"

    def last(error: str, hint: str, code: int, *, resumable: bool = True) -> str:
        failed = ev.RunFailed(error, "the key was refused", hint, code, resumable)
        text = written([begun(), failed])
        assert "refused" not in text
        assert "hint:" not in text
        return text.splitlines()[-1]

    early = "Ended early: 0 of 3 steps recorded in 1s"
    spent = "Ended early: budget exhausted after 0 steps of 3, in 1s"
    assert last("AuthFailed", "check OPENAI_API_KEY", 4) == f"{early}; {resume}"
    assert last("BudgetExhausted", "raise it, then skillopt resume R", 5) == spent
    assert last("BudgetExhausted", "", 5) == f"{spent}; {resume}"
    assert last("Interrupted", "", 130) == early
    assert last("DataError", "", 3, resumable=False) == early


def test_a_failed_evaluation_has_no_steps() -> None:
    failed = ev.RunFailed("AuthFailed", "the key was refused", "", 4, False)
    assert written([begun(total_steps=0), failed]).splitlines()[-1] == "Ended early: after 1s"


@pytest.mark.parametrize(("label", "words"), [("skill", "skill"), ("seed", "seed skill")])
def test_an_arm_is_called_a_skill_once(label: str, words: str) -> None:
    text = written([
        begun(total_steps=0, epochs=0),
        ev.StageStarted(0, "measure", 24, 4, label=label),
        ev.StageStarted(0, "test", 24, 4, label=label),
    ])
    assert f"Measure: {words}, 24 items" in text
    assert f"Test: {words}, 24 items" in text


def test_an_evaluation_is_not_called_a_baseline() -> None:
    text = written([
        begun(total_steps=0, epochs=0),
        ev.StageStarted(0, "measure", 20, 4),
        ev.TestMeasured("selection", "d", 0.5, 0.6, 19, 20),
        ev.RunFinished(0, 0, None, 0),
    ])
    assert "Measure: 20 items, 4 workers..." in text
    assert "Score: selection 0.50 (n=19 of 20)" in text
    assert "steps" not in text


def test_only_facts_of_no_note_are_silent() -> None:
    base = fold(stamp([*opening(), *proposing(1)]))
    silent = set()
    for fact in stamp(one_of_each()):
        if not lines_of(base, apply(base, fact), fact):
            silent.add(type(fact.event))
    assert silent == SILENT


def test_our_own_words_are_ascii_and_one_line_each() -> None:
    assert written(states()["finished"]).isascii()
    text = written([begun(data="a\nb\x1b[31mred"), ev.Degraded("x", "one\r\ntwo\u202e")])
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "a b?[31mred" in text
    assert "one two?" in text


def test_a_stream_that_cannot_hold_a_letter_gets_an_escape() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", newline="\n")
    plain = PlainLines(stream)
    plain(stamp([begun(data="Köln 東京")])[0])
    assert raw.getvalue().startswith(b"Data: K\\xf6ln \\u6771\\u4eac")


def test_json_lines_read_back_as_the_same_facts() -> None:
    stream = io.StringIO()
    writer = JsonLines(stream)
    facts = stamp([*one_of_each(), ev.Degraded("x", "two\nlines\u2028 \ud800 東京")])
    for fact in facts:
        writer(fact)
    writer.close({"status": "finished"})
    *lines, last = stream.getvalue().rstrip("\n").split("\n")
    assert [load_fact(line) for line in lines] == facts
    assert json.loads(last) == {"summary": {"status": "finished"}}


def test_json_lines_fit_any_stream() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", newline="\n")
    (fact,) = stamp([ev.Degraded("x", "東京")])
    JsonLines(stream)(fact)
    assert load_fact(raw.getvalue()) == fact


@pytest.mark.parametrize(
    ("metric", "val", "test"),
    [("hard", "", ""), ("soft", " (soft)", " (soft)"), ("mixed", " (mixed)", " (hard)")],
)
def test_the_last_lines_name_the_score_where_it_is_not_the_hard_one(
    metric: str, val: str, test: str
) -> None:
    lines = written([begun(metric=metric), *states()["finished"][1:]]).splitlines()
    (last,) = [line for line in lines if line.startswith("Finished")]
    assert f"best val score{val} 0.80 (n=20) from step 1, baseline 0.65 (n=20)" in last
    assert any(line.startswith(f"Test{test}: seed 0.6") for line in lines)


@pytest.mark.parametrize(
    ("n", "note"),
    [
        (0, None),
        (1, "1 selection task: scores move in steps of 1.00, and any accepted gain may be chance"),
        (8, "8 selection tasks: scores move in steps of 0.12, and accepted gains below 0.62"),
        (19, "19 selection tasks: "),
        (20, None),
    ],
)
def test_a_small_selection_split_is_noted_in_one_line(n: int, note: str | None) -> None:
    notes = [line for line in written([begun(n_selection=n)]).splitlines() if "Note" in line]
    assert len(notes) == (note is not None)
    if note:
        assert notes[0].startswith(f"Note: {note}")
        assert notes[0].endswith("; see `skillopt data check searchqa`")


@pytest.mark.parametrize("metric", ["soft", "mixed"])
@pytest.mark.parametrize(
    ("n", "words"),
    [
        (5, "any accepted gain may be chance"),
        (13, "accepted gains for which fewer than 5 tasks score higher can be chance"),
    ],
)
def test_graded_scores_on_few_selection_tasks_are_given_no_steps(
    metric: str, n: int, words: str
) -> None:
    lines = written([begun(metric=metric, n_selection=n)]).splitlines()
    (note,) = [line for line in lines if "Note" in line]
    assert note == f"Note: {n} selection tasks: {words}; see `skillopt data check searchqa`"


@pytest.mark.parametrize(
    ("benchmark", "target", "noted"),
    [("folder", "simulated", True), ("searchqa", "simulated", False), ("folder", "m", False)],
)
def test_scores_of_the_simulated_model_on_own_tasks_are_noted(
    benchmark: str, target: str, *, noted: bool
) -> None:
    lines = written([begun(benchmark=benchmark, target=target, n_selection=20)]).splitlines()
    assert any("on own tasks its scores show nothing" in line for line in lines) == noted


def test_an_evaluation_claims_no_use_of_the_splits() -> None:
    first = written([begun(total_steps=0, n_selection=3)]).splitlines()[0]
    assert first == "Data: bundled sample"


def test_a_run_without_selection_tasks_names_no_gate() -> None:
    for n, metric in ((3, ", gate metric hard"), (0, "")):
        lines = written([begun(total_steps=0, n_train=0, n_selection=n)]).splitlines()
        assert lines[1] == f"Run: searchqa 2026-01-31_10-30-00{metric}"


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        (
            ev.BudgetSpent("max_usd", 4.0164, 5.0, 0.8),
            "[Budget] 80 % of max_usd: $4.02 of $5.00",
        ),
        (
            ev.BudgetSpent("max_calls", 5000, 10_000, 0.5),
            "[Budget] 50 % of max_calls: 5,000 of 10,000",
        ),
        (
            ev.BudgetSpent("max_minutes", 30.04, 30, 1.0),
            "[Budget] 100 % of max_minutes: 30.04 of 30",
        ),
        (
            ev.PaceChanged("openai_compatible", "m", 8, 95.0, "rate limited"),
            "[Pace] openai_compatible/m: 8 calls in flight, 95 per minute (rate limited)",
        ),
        (
            ev.PaceChanged("claude_chat", "m\n", 1, None, "overloaded\x1b"),
            "[Pace] claude_chat/m: 1 call in flight (overloaded?)",
        ),
        (
            ev.ParameterRefused("target", "m", "temperature"),
            "Model `m` does not take `temperature`; it is left out from now on",
        ),
    ],
)
def test_limits_are_told_in_one_line(fact: ev.RunEvent, line: str) -> None:
    assert written([begun(), fact]).splitlines()[-1] == line


def test_the_limits_in_force_are_among_the_first_lines() -> None:
    def said(**limits: object) -> list[str]:
        known: dict[str, object] = {"workers": 8, "analyst_workers": 16, "max_concurrency": 64}
        told = begun(limits=ev.Limits(**(known | limits)))  # type: ignore[arg-type]
        return [line for line in written([told]).splitlines() if line.startswith("Limits: ")]

    assert said() == ["Limits: 8 workers, 16 analysts, 64 calls at once per provider; no caps"]
    assert said(analyst_workers=0) == ["Limits: 8 workers, 64 calls at once per provider; no caps"]
    (line,) = said(caps=(("max_usd", 2.5), ("max_tokens", 1_000_000), ("max_minutes", 7.5)))
    assert line.endswith("; max_usd $2.50, max_tokens 1,000,000, max_minutes 7.5")
    assert "Limits" not in written([begun(limits=None)])


def test_the_end_says_what_was_spent_of_each_cap_and_by_whom() -> None:
    caps = ev.Limits(1, 1, 1, (("max_usd", 1.0), ("max_rollouts", 10), ("max_minutes", 1)))
    calls = [
        ev.CallMade("target", "rollout", Usage(1, 10, 5), 0.25),
        ev.CallMade("optimizer", "reflect", Usage(1, 100, 5), 0.5),
    ]
    lines = written([begun(limits=caps), *calls, ev.RunFinished(0, 0, None, 0)]).splitlines()
    spent = "target 1 call, 15 tokens, $0.25; optimizer 1 call, 105 tokens, $0.50; in all $0.75"
    assert f"Spent: {spent}" in lines
    assert "Caps: $0.75 of $1.00, 1 of 10 rollouts, 0.1 of 1 minutes" in lines


def test_a_run_that_costs_nothing_shows_no_money() -> None:
    calls = [ev.CallMade("target", "rollout", Usage(1, 10, 5), 0.0)] * 2
    assert "$" not in written([begun(limits=None), *calls, ev.RunFinished(0, 0, None, 0)])


def test_calls_that_no_further_try_mended_are_told_at_the_end() -> None:
    failed = [ev.CallFailed("target", "rollout", "RateLimited")] * 5
    text = written([begun(), *failed, *retries(3), ev.RunFinished(0, 0, None, 0)])
    assert "Trouble: 3 retries, 2 other failed calls" in text


def test_guidance_is_told_in_words() -> None:
    lines = written([*opening(), *accepted_step(1), *epoch_end(1)]).splitlines()
    at = lines.index("[Epoch 2/1] Slow update: guidance injected, val score hard 0.80, soft 0.82")
    assert lines[at + 1] == "[Epoch 2/1] Guidance: - keep answers short"
