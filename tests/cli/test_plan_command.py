"""`skillopt plan` against what a training then really takes, and what `train` says before it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, events, refused, skillopt

SIZES = (
    *("--set", "model.backend=simulated", "--set", "run.workers=24", "--seed", "3"),
    *("--set", "train.num_epochs=2", "--set", "train.batch_size=15", "--display", "none"),
    *("--set", "optimizer.slow_update_samples=6", "--set", "evaluation.sel_env_num=30"),
    *("--set", "evaluation.test_env_num=30"),
)
GATED = "optimizer.slow_update_gate_with_selection=true"
CASES = [
    (),
    ("train.batch_size=20", "train.num_epochs=3"),
    ("train.accumulation=2",),
    (GATED,),
    ("optimizer.use_slow_update=false",),
    ("optimizer.use_slow_update=false", "optimizer.use_meta_skill=false"),
    ("optimizer.skill_update_mode=rewrite_from_suggestions",),
    ("optimizer.skill_update_mode=full_rewrite_minibatch",),
    ("optimizer.use_skill_aware_reflection=true",),
    ("gradient.failure_only=true",),
    ("gradient.minibatch_size=3", "gradient.merge_batch_size=2"),
    ("evaluation.eval_no_skill=true",),
    ("evaluation.use_gate=false",),
    ("env.from_scratch=true", "evaluation.eval_no_skill=true"),
]


def settings(case: tuple[str, ...]) -> list[str]:
    return [word for text in case for word in ("--set", text)]


def trained(*more: str) -> tuple[int, float]:
    """Calls answered in a training, and the share of train tasks it solved."""
    ended = skillopt("train", "searchqa", *SIZES, *more, "--run-id", "a")
    assert ended.code == 0, ended.err
    folder = Path("outputs/searchqa/a")
    calls = len(events(folder, "call_made"))
    history = json.loads((folder / "history.json").read_text(encoding="utf-8"))
    return calls, sum(step["rollout_hard"] for step in history) / len(history)


def planned(*more: str) -> dict[str, Any]:
    ended = skillopt("plan", "searchqa", *SIZES, *more, "--json")
    assert ended.code == 0, ended.err
    document: dict[str, Any] = ended.json
    return document


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_with_the_true_accuracy_the_plan_is_within_five_percent(case: tuple[str, ...]) -> None:
    more = [*settings(case), "--set", "evaluation.early_reject=false"]
    calls, accuracy = trained(*more)
    plan = planned(*more, "--accuracy", f"{accuracy:.4f}")
    assert plan["calls"]["point"] == pytest.approx(calls, rel=0.05)
    assert plan["calls"]["low"] <= calls <= plan["calls"]["high"]


@pytest.mark.parametrize(
    "case",
    [
        *CASES[:4],
        ("optimizer.lr_control_mode=autonomous",),
        ("optimizer.longitudinal_pair_policy=changed",),
        ("evaluation.patience=1",),
    ],
    ids=" ".join,
)
def test_otherwise_the_range_holds_what_it_takes(case: tuple[str, ...]) -> None:
    more = settings(case)
    calls, _ = trained(*more)
    plan = planned(*more)
    assert plan["calls"]["low"] <= calls <= plan["calls"]["high"]


def test_the_range_holds_a_run_that_ends_early() -> None:
    solved = ("evaluation.sel_env_num=2", "model.simulated.right_rate=1", "train.num_epochs=6")
    more = settings((*solved, "model.simulated.harmful_rate=0"))
    calls, _ = trained(*more)
    assert events(Path("outputs/searchqa/a"), "stopped_early")
    plan = planned(*more)
    assert plan["calls"]["low"] <= calls <= plan["calls"]["high"]


def test_time_heeds_the_ceiling_of_calls_at_once() -> None:
    wide, narrow = planned(), planned("--max-concurrency", "1", "--latency", "3")
    assert narrow["seconds"]["point"] > 10 * wide["seconds"]["point"]
    assert narrow["seconds"]["point"] == pytest.approx(3 * narrow["calls"]["point"], rel=0.05)


def test_a_plan_needs_neither_address_nor_key() -> None:
    models = ("--target-model", "gpt-4.1-mini", "--optimizer-model", "gpt-4.1")
    hosted = ("--set", "model.backend=openai_chat", "--set", "model.api_key_env=NOT_THERE_KEY")
    ended = skillopt("plan", "searchqa", *models, *hosted, "--json")
    assert ended.code == 0, ended.err
    assert ended.json["calls"]["point"] > 0
    refused(2, "plan")


def test_a_plan_makes_no_call_and_no_folder() -> None:
    ended = skillopt("plan", "searchqa", *SIZES)
    assert ended.code == 0
    assert "rollouts" in ended.out
    assert not Path("outputs").exists()


def test_an_unknown_price_is_not_zero() -> None:
    remote = (
        "--set",
        "model.backend=openai_compatible",
        "--set",
        "model.base_url=http://127.0.0.1:9",
    )
    named = ("--optimizer-model", "o", "--target-model", "t")
    ended = skillopt("plan", "searchqa", *remote, *named, "--json")
    assert ended.json["usd"] is None
    assert ended.json["unknown_prices"] == {"optimizer": "o", "target": "t"}
    prices = "model.prices=[{model: o, input: 1, output: 2}, {model: t, input: 1, output: 2}]"
    priced = skillopt("plan", "searchqa", *remote, *named, "--set", prices, "--json").json
    assert 0 < priced["usd"]["low"] < priced["usd"]["point"] < priced["usd"]["high"]


@pytest.mark.parametrize("cap", ["max_rollouts", "max_calls", "max_tokens", "max_minutes"])
def test_a_larger_cap_never_buys_fewer_steps(cap: str) -> None:
    flag = f"--{cap.replace('_', '-')}"
    limits = [0.01, 1, 6, 10**4] if cap == "max_minutes" else [1, 60, 200, 1000, 10**7]
    bought = [planned(flag, str(limit))["caps"][0]["steps"] for limit in limits]
    assert bought == sorted(bought)
    assert bought[0] == 0
    assert bought[-1] == planned()["steps"]


def test_t23_a_cap_that_buys_too_little_is_told_before_and_after() -> None:
    ended = skillopt("train", "searchqa", *TINY, "--max-rollouts", "8", "--run-id", "a")
    assert ended.code == 5
    lines = ended.err.splitlines()
    told = "Warning: run.max_rollouts of 8 buys 0 of 4 steps"
    warning = next(i for i, line in enumerate(lines) if line.startswith(told))
    assert warning < next(i for i, line in enumerate(lines) if line.startswith("Baseline: "))
    summary = json.loads(Path("outputs/searchqa/a/summary.json").read_text(encoding="utf-8"))
    assert summary["status"] == "budget"
    assert "budget exhausted after 0 steps" in ended.err


@pytest.mark.parametrize("limit", [40, 62, 70, 85])
def test_a_cap_on_rollouts_buys_the_steps_it_said(limit: int) -> None:
    full = ("--set", "evaluation.early_reject=false")
    capped = (*TINY, *full, "--max-rollouts", str(limit))
    (cap,) = skillopt("plan", "searchqa", *capped, "--json").json["caps"]
    ended = skillopt("train", "searchqa", *capped, "--run-id", "a")
    assert ended.code == 5
    assert f"budget exhausted after {cap['steps']} step" in ended.err
    assert ("kept for the final test" in ended.err) == cap["final_test"]


def test_a_resumed_run_says_what_is_left() -> None:
    skillopt("train", "searchqa", *TINY, "--max-rollouts", "70", "--run-id", "a")
    ended = skillopt("resume", "outputs/searchqa/a", "--max-rollouts", "500")
    assert ended.code == 0, ended.err
    (done,) = [e["done"] for e in events(Path("outputs/searchqa/a"), "run_started")][1:]
    assert 0 < done < 4
    assert ended.err.startswith(f"Plan: {4 - done} steps of 4 left, ")
    again = skillopt("resume", "outputs/searchqa/a")
    assert "Plan:" not in again.err


def test_a_tiny_selection_split_is_warned_of() -> None:
    told = "the selection split has only 8 tasks"
    assert told in skillopt("plan", "searchqa", *TINY).out
    assert told in skillopt("train", "searchqa", *TINY, "--run-id", "a").err
    assert not planned()["warnings"]


def test_the_short_form_comes_first_and_never_on_stdout() -> None:
    ended = skillopt("train", "searchqa", *TINY, "--run-id", "a")
    assert ended.err.startswith("Plan: 4 steps, ")
    assert "Plan:" not in ended.out
    as_json = skillopt("train", "searchqa", *TINY, "--run-id", "b", "--json")
    assert "Plan:" not in as_json.out + as_json.err


def test_an_accuracy_beyond_one_is_a_usage_error() -> None:
    refused(2, "plan", "searchqa", *TINY, "--accuracy", "1.5")
