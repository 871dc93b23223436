"""`skillopt plan --like`: what a plan takes from an earlier run, and which run it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import SMALLEST, TINY, events, finished_run, refused, skillopt, train

FULL = ("--set", "evaluation.early_reject=false", "--display", "none")
LARGE = (*FULL, "--preset", "tiny", "--epochs", "3", "--set", "train.train_size=30")
LARGE += ("--set", "evaluation.sel_env_num=30", "--set", "evaluation.test_env_num=40")


def plan(*arguments: object) -> dict[str, Any]:
    ended = skillopt("plan", "searchqa", *arguments, "--json")
    assert ended.code == 0, ended.err
    document: dict[str, Any] = ended.json
    return document


def tokens(folder: Path) -> int:
    made = [call for call in events(folder, "call_made") if call["stage"] != "preflight"]
    usages = [call["usage"] for call in made]
    return sum(usage["prompt_tokens"] + usage["completion_tokens"] for usage in usages)


def test_a_small_run_tells_what_a_large_one_takes() -> None:
    finished_run(*TINY, *FULL)
    untold, like = plan(*LARGE), plan(*LARGE, "--like", "a")
    large = finished_run(*LARGE, run_id="b")
    calls, read = len(events(large, "call_made")), tokens(large)
    # Later on more texts are no new ones, which a short run cannot tell.
    assert like["calls"]["point"] == pytest.approx(calls, rel=0.25)
    assert like["tokens"]["point"] == pytest.approx(read, rel=0.35)
    assert untold["tokens"]["point"] > 2 * read
    for document in (untold, like):
        assert document["calls"]["low"] <= calls <= document["calls"]["high"]
        assert document["tokens"]["low"] <= read <= document["tokens"]["high"]
    # Nobody knows which of more steps would make the best skill.
    assert (like["like"]["steps"], like["like"]["best_step"]) == (4, None)


def test_early_rejection_is_taken_as_far_as_it_went() -> None:
    folder = finished_run(*TINY, "--display", "none")
    document = plan(*TINY, "--like", folder)
    assert 0 < document["like"]["measured"] < 1
    calls = len(events(folder, "call_made"))
    assert document["calls"]["point"] == pytest.approx(calls, rel=0.05)
    names = ("accuracy", "best_step", "unchanged", "measured")
    values = [(f"--{name.replace('_', '-')}", document["like"][name]) for name in names]
    told = plan(*TINY, *(word for pair in values for word in pair))
    assert told["calls"]["point"] == pytest.approx(document["calls"]["point"])


def test_what_is_told_by_hand_wins() -> None:
    finished_run(*TINY, *FULL)
    flags = ("--accuracy", "0.9", "--best-step", "3", "--unchanged", "0.5", "--latency", "7")
    document = plan(*TINY, *FULL, "--like", "a", *flags)
    told = ("accuracy", "best_step", "unchanged", "latency")
    assert [document["like"][name] for name in told] == [None] * 4
    assert document["assumed"] == {
        "accuracy": {"low": 0.9, "point": 0.9, "high": 0.9},
        "best_step": 3,
        "unchanged": 0.5,
        "measured": None,
        "latency": 7.0,
        "latency_by_role": {"target": 7.0, "optimizer": 7.0},
        "passing": None,
        "last_step": None,
    }
    assert document["like"]["tokens"]["target"]["rollout"]["prompt"] > 0
    assert plan(*TINY)["like"] is None


def test_one_line_says_what_was_taken() -> None:
    folder = finished_run(*TINY, *FULL)
    out = skillopt("plan", "searchqa", *TINY, *FULL, "--like", "a").out
    (line,) = [line for line in out.splitlines() if line.startswith("Taken ")]
    assert line.startswith(f"Taken as likely from {folder} (4 steps): ")
    for words in ("train tasks are solved", "are new ones", "a call takes", "one of the target"):
        assert words in line
    assert "Assumed" not in out and "earlier run was" not in out


def test_a_single_tested_text_is_spoken_of_as_one() -> None:
    hopeless = (*TINY, *FULL, "--set", "model.simulated.right_rate=0")
    finished_run(*hopeless, "--set", "optimizer.use_slow_update=false")
    out = skillopt("plan", "searchqa", *hopeless, "--like", "a").out
    assert "no step made a better skill" in out
    assert " 1 text is tested" in out


def test_a_run_that_may_go_on_tells_no_best_step() -> None:
    ended = skillopt("train", "searchqa", *TINY, "--max-rollouts", "70", "--run-id", "a")
    assert ended.code == 5
    taken = plan(*TINY, "--like", "a")["like"]
    assert taken["best_step"] is None
    assert taken["accuracy"] is not None


def test_another_model_is_told_of() -> None:
    finished_run(*TINY, *FULL)
    other = ("--target-backend", "openai_compatible", "--target-model", "big")
    (warning,) = plan(*LARGE, *other, "--like", "a")["warnings"]
    assert warning == (
        "Warning: the target of the earlier run was simulated, not openai_compatible/big"
    )


def test_measured_tokens_make_measured_dollars() -> None:
    finished_run(*TINY, *FULL)
    named = ("--set", "model.backend=openai_compatible", "--target-model", "t")
    named += ("--optimizer-model", "o")
    prices = "model.prices=[{model: o, input: 0, output: 0}, {model: t, input: 1, output: 2}]"
    document = plan(*TINY, *FULL, *named, "--set", prices, "--like", "a")
    spent = [c["usage"] for c in events(Path("outputs/searchqa/a"), "call_made") if of_target(c)]
    usd = sum(use["prompt_tokens"] + 2 * use["completion_tokens"] for use in spent) / 1e6
    assert document["usd"]["point"] == pytest.approx(usd, rel=0.1)
    assert document["usd"]["low"] < usd < document["usd"]["high"]


def of_target(call: dict[str, Any]) -> bool:
    return bool(call["role"] == "target" and call["stage"] != "preflight")


def test_a_replay_tells_only_what_it_found_out() -> None:
    train(*SMALLEST, *FULL, "--record", "tape.jsonl")
    train(*SMALLEST, *FULL, "--replay", "tape.jsonl", run_id="b")
    taken, first = (plan(*SMALLEST, *FULL, "--like", name)["like"] for name in ("b", "a"))
    assert taken["latency"] is None
    assert taken["tokens"] == {"optimizer": {}, "target": {}}
    shares = ("accuracy", "unchanged")
    assert [taken[name] for name in shares] == [first[name] for name in shares]


def test_an_evaluation_tells_what_its_calls_took() -> None:
    ended = skillopt("eval", "searchqa", "--from-scratch", *TINY, "--run-id", "a")
    assert ended.code == 0, ended.err
    taken = plan(*TINY, "--like", "a")["like"]
    assert taken["accuracy"] is taken["best_step"] is taken["unchanged"] is None
    assert list(taken["tokens"]["target"]) == ["test"]


def test_a_run_that_cannot_be_taken_is_a_usage_error() -> None:
    refused(2, "plan", "searchqa", *TINY, "--like", "nowhere")
    folder = finished_run(*SMALLEST, *FULL)
    other = refused(2, "plan", "docvqa", "--like", folder)
    assert other.error == f"error: the run {folder} is one of `searchqa`, not of `docvqa`"
    (folder / "events.jsonl").write_text("", encoding="utf-8")
    empty = refused(2, "plan", "searchqa", *TINY, "--like", "a")
    assert empty.error == f"error: the run {folder} has made no attempt yet"
    (folder / "events.jsonl").write_text("no fact\n", encoding="utf-8")
    refused(3, "plan", "searchqa", *TINY, "--like", "a")
