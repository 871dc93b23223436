"""`skillopt plan` against what a training really takes, and what `train` says before it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet
from command_line import PUBLISHED, TINY, events, refused, skillopt
from plugin_folder import benchmark, install

from skillopt_cli.backends.chat.weights import BYTES
from skillopt_cli.runlog.schedule_file import read_schedule

JUDGE = "--set=model.judge.backend=simulated"
SIMULATED = ("--set", "model.backend=simulated", "--set", "run.workers=24", "--display", "none")
SIZES = (
    *SIMULATED,
    *PUBLISHED,
    *("--set", "train.num_epochs=2", "--set", "train.batch_size=15", "--seed", "3"),
    *("--set", "optimizer.slow_update_samples=6", "--set", "evaluation.sel_env_num=30"),
    *("--set", "evaluation.test_env_num=30"),
)
SMALL = (
    *SIMULATED,
    *PUBLISHED,
    *("--set", "train.num_epochs=2", "--set", "train.batch_size=8", "--set", "train.train_size=24"),
    *("--set", "optimizer.slow_update_samples=4", "--set", "evaluation.sel_env_num=16"),
    *("--set", "evaluation.test_env_num=16", "--set", "evaluation.early_reject=false"),
)
GATED = "optimizer.slow_update_gate_with_selection=true"
CASES: list[tuple[str, ...]] = [
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


QUICK = ((), ("train.accumulation=2",), (GATED,), ("evaluation.patience=1",))


def matrix(*cases: tuple[str, ...]) -> list[ParameterSet]:
    """The cases, all but the `QUICK` ones slow: each is a whole training."""
    return [
        pytest.param(case, id=" ".join(case), marks=() if case in QUICK else pytest.mark.slow)
        for case in cases
    ]


def settings(case: tuple[str, ...]) -> list[str]:
    return [word for text in case for word in ("--set", text)]


@dataclass(frozen=True)
class Trained:
    """What a training took, and what only it could tell."""

    calls: int
    tokens: int
    accuracy: float
    best_step: int
    unchanged: float

    @property
    def known(self) -> list[str]:
        shares = ("--accuracy", f"{self.accuracy:.4f}", "--unchanged", f"{self.unchanged:.4f}")
        return [*shares, "--best-step", str(self.best_step)]


def trained(sizes: Sequence[str], *more: str) -> Trained:
    ended = skillopt("train", "searchqa", *sizes, *more, "--run-id", "a")
    assert ended.code == 0, ended.err
    folder = Path("outputs/searchqa/a")
    history = json.loads((folder / "history.json").read_text(encoding="utf-8"))
    accuracy = sum(step["rollout_hard"] for step in history) / len(history)
    calls = events(folder, "call_made")
    read = [call["usage"] for call in calls if call["stage"] != "preflight"]
    decided = [*events(folder, "gate_decided"), *events(folder, "slow_update_decided")]
    leads = [event["step"] for event in decided if leads_with(event.get("decision"))]
    return Trained(
        calls=len(calls),
        tokens=sum(usage["prompt_tokens"] + usage["completion_tokens"] for usage in read),
        accuracy=accuracy,
        best_step=max(leads, default=0),
        unchanged=unchanged(folder),
    )


def unchanged(folder: Path) -> float:
    """The share of texts that took no call to be measured; without early rejection."""
    begun = [event["step"] for event in events(folder, "stage_started") if is_measure(event)]
    ends = events(folder, "slow_update_decided")
    none = sum(event["action"] == "no_content" for event in ends)
    texts = sum(step > 0 for step in begun) + len(events(folder, "step_skipped")) + none
    (baseline,) = events(folder, "baseline_measured")
    made = sum(is_measure(event) for event in events(folder, "call_made")) / baseline["n"] - 1
    return 1 - made / texts


def is_measure(event: dict[str, Any]) -> bool:
    return bool(event["stage"] == "measure")


def leads_with(decision: dict[str, Any] | None) -> bool:
    return decision is not None and (
        decision["verdict"] == "new_best" or decision["beats_best"] or "ties_best" in decision
    )


def planned(sizes: Sequence[str] = SIZES, *more: str) -> dict[str, Any]:
    ended = skillopt("plan", "searchqa", *sizes, *more, "--json")
    assert ended.code == 0, ended.err
    document: dict[str, Any] = ended.json
    return document


def check(sizes: Sequence[str], *more: str) -> Trained:
    """Hold plans against the training: told what is true, told nothing, and like the training."""
    true = trained(sizes, *more)
    told, untold = planned(sizes, *more, *true.known), planned(sizes, *more)
    like = planned(sizes, *more, "--like", "a")
    for plan in (told, like):
        assert plan["calls"]["point"] == pytest.approx(true.calls, rel=0.05)
    assert like["tokens"]["point"] == pytest.approx(true.tokens, rel=0.1)
    for plan in (told, untold, like):
        assert plan["calls"]["low"] <= true.calls <= plan["calls"]["high"]
        assert plan["tokens"]["low"] <= true.tokens <= plan["tokens"]["high"]
    assert like["like"]["accuracy"] == pytest.approx(true.accuracy, abs=1e-4)
    assert like["like"]["best_step"] == true.best_step
    assert like["like"]["unchanged"] == pytest.approx(true.unchanged)
    return true


@pytest.mark.parametrize("case", matrix(*CASES))
def test_a_plan_that_is_told_what_is_true_is_within_five_percent(case: tuple[str, ...]) -> None:
    check(SIZES, *settings(case), "--set", "evaluation.early_reject=false")


def test_so_it_is_for_a_small_run() -> None:
    check(SMALL, "--seed", "1")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 4, 8, 9])
@pytest.mark.parametrize(
    "case",
    [(), ("optimizer.use_slow_update=false",), ("evaluation.patience=2",), (GATED,)],
    ids=" ".join,
)
def test_so_it_is_for_other_seeds(case: tuple[str, ...], seed: int) -> None:
    check(SMALL, *settings(case), "--seed", str(seed))


@pytest.mark.parametrize(
    ("sizes", "seed", "case"),
    [
        pytest.param(
            *(SIZES, 23, "optimizer.lr_control_mode=autonomous"),
            id="no rate",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(SIZES, 13, "optimizer.use_slow_update=false"),
            id="a text again",
            marks=pytest.mark.slow,
        ),
        pytest.param(*(SMALL, 6, "evaluation.use_gate=false"), id="ungated"),
    ],
)
def test_so_it_is_where_a_candidate_is_no_new_text(
    sizes: Sequence[str], seed: int, case: str
) -> None:
    more = (*settings((case, "evaluation.early_reject=false")), "--seed", str(seed))
    true = check(sizes, *more)
    assert true.unchanged > 0
    # Not told of it, the plan counts a measurement that is not made.
    less = planned(sizes, *more, *true.known, "--unchanged", "0")["calls"]["point"]
    assert less > 1.05 * true.calls


@pytest.mark.parametrize(
    "case",
    matrix(
        *CASES[:4],
        ("optimizer.lr_control_mode=autonomous",),
        ("optimizer.longitudinal_pair_policy=changed",),
        ("evaluation.patience=1",),
    ),
)
def test_otherwise_the_range_holds_what_it_takes(case: tuple[str, ...]) -> None:
    more = settings(case)
    calls, plan = trained(SIZES, *more).calls, planned(SIZES, *more)
    assert plan["calls"]["low"] <= calls <= plan["calls"]["high"]


def test_the_range_holds_a_run_that_ends_early() -> None:
    solved = ("evaluation.sel_env_num=2", "model.simulated.right_rate=1", "train.num_epochs=6")
    more = settings((*solved, "model.simulated.harmful_rate=0"))
    calls = trained(SIZES, *more).calls
    assert events(Path("outputs/searchqa/a"), "stopped_early")
    plan = planned(SIZES, *more)
    assert plan["calls"]["low"] <= calls <= plan["calls"]["high"]


SHORT = (
    *SIMULATED,
    *("--set", "train.batch_size=10", "--set", "train.train_size=30", "--epochs", "3"),
    *("--set", "evaluation.sel_env_num=20", "--set", "evaluation.test_env_num=20", "--seed", "2"),
)
"""A training with the default preset, whose edits are verified."""
VERIFIED: list[tuple[str, ...]] = [
    (),
    ("optimizer.check_passing=true", "optimizer.prune=true", "optimizer.verify_tasks=1"),
    ("optimizer.verify=joint", "optimizer.rerun_solved=1"),
    ("optimizer.reflect_rounds=3", "gradient.failure_only=false"),
    ("optimizer.reflect_rounds=1", "evaluation.confirm_fraction=0.3", "evaluation.patience=2"),
    ("optimizer.skill_update_mode=rewrite_from_suggestions", "gradient.minibatch_size=3"),
    ("optimizer.lr_control_mode=none", "optimizer.merge=model"),
    ("evaluation.gate_policy=pooled",),
]


@pytest.mark.parametrize("case", VERIFIED, ids=" ".join)
def test_a_plan_like_a_verified_training_is_within_ten_percent(case: tuple[str, ...]) -> None:
    true = trained(SHORT, *settings(case))
    like, untold = (
        planned(SHORT, *settings(case), *given) for given in (("--like", "a"), ("--epochs", "3"))
    )
    assert like["calls"]["point"] == pytest.approx(true.calls, rel=0.1)
    known = [f"--{name.replace('_', '-')}={like['like'][name]}" for name in ("accuracy", "trials")]
    for plan in (like, untold, planned(SHORT, *settings(case), *known)):
        assert plan["calls"]["low"] <= true.calls <= plan["calls"]["high"]
        assert plan["tokens"]["low"] <= true.tokens <= plan["tokens"]["high"]
    assert like["likely_calls"] is None
    assert untold["likely_calls"]["low"] < untold["likely_calls"]["high"]
    assert like["calls_if_none_solved"] is None
    assert untold["calls"]["point"] < untold["calls_if_none_solved"]
    assert untold["calls_if_none_solved"] <= untold["likely_calls"]["high"]


def test_a_verified_training_that_ends_early_is_planned_to_its_end() -> None:
    ends = settings(("evaluation.patience=1",))
    true = trained(SHORT, *ends)
    assert events(Path("outputs/searchqa/a"), "stopped_early")
    like, untold = planned(SHORT, *ends, "--like", "a"), planned(SHORT, *ends)
    assert 0 < like["like"]["last_step"] < untold["steps"]
    assert like["calls"]["point"] == pytest.approx(true.calls, rel=0.1)
    assert untold["calls"]["low"] <= true.calls <= untold["calls"]["high"]
    told = planned(SHORT, *ends, "--last-step", str(like["like"]["last_step"]))
    assert told["steps"] == like["like"]["last_step"]


def test_time_heeds_the_ceiling_of_calls_at_once() -> None:
    wide, narrow = planned(), planned(SIZES, "--max-concurrency", "1", "--latency", "3")
    assert narrow["seconds"]["point"] > 10 * wide["seconds"]["point"]
    assert narrow["seconds"]["point"] == pytest.approx(3 * narrow["calls"]["point"], rel=0.05)


def test_a_plan_knows_how_fast_the_backends_of_this_machine_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = skillopt("plan", "searchqa", *TINY)
    assert "a call takes 0.01 s" in ended.out
    waits = planned(SIZES, "--set", "model.simulated.latency_ms=500")
    assert waits["assumed"]["latency_by_role"] == {"target": 0.51, "optimizer": 0.51}
    monkeypatch.setattr("skillopt_cli.backends.chat.local._cores", lambda: 2)
    demo = planned(("--preset", "demo", "--set", "model.judge.backend=simulated"))
    assert demo["assumed"]["latency_by_role"] == {"target": 0.9}
    # Two cores answer two texts at a time, whatever the number of workers.
    assert demo["seconds"]["point"] == pytest.approx(0.45 * demo["rollouts"]["point"], rel=0.05)
    mixed = skillopt("plan", "searchqa", "--preset", "demo", "--optimizer-backend", "simulated")
    assert "a call of the optimizer takes 0.01 s, one of the target 0.9 s" in mixed.out


def test_other_local_weights_are_slower_in_proportion_to_their_size(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    with own.open("wb") as file:
        file.truncate(2 * BYTES)
    speeds = [
        planned(("--preset", "demo"), f"--set=model.local.model_path={path}")["assumed"]["latency"]
        for path in ("", own)
    ]
    assert speeds == [0.9, 1.8]


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


ROW = re.compile(r" *(\S.*?) {2,}([\d,]+)(?: {2,}([\d,]+) to ([\d,]+))?")


def shown(*given: str) -> dict[str, list[int]]:
    """The rows of the table that are numbers, each as likely, least and most."""
    lines = skillopt("plan", "searchqa", *given).out.splitlines()
    found = [match.groups() for line in lines if (match := ROW.fullmatch(line))]
    numbers = [(name, [int(n.replace(",", "")) for n in ns if n]) for name, *ns in found]
    return {name: ns if len(ns) == 3 else ns * 3 for name, ns in numbers}


@pytest.mark.parametrize(
    "case",
    [
        (),
        ("optimizer.prune=true", "evaluation.patience=2"),
        ("optimizer.rerun_solved=0.3", "optimizer.lr_control_mode=autonomous"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("accuracy", [(), ("--accuracy", "0.37"), ("--accuracy", "0.91")])
def test_the_parts_that_are_shown_add_up_to_the_totals(
    case: tuple[str, ...], accuracy: tuple[str, ...]
) -> None:
    rows = shown(*SHORT, *settings(case), *accuracy)
    names = [*rows]
    calls = ["rollouts", "optimizer calls", "preflight calls"]
    first, asked, ends = map(names.index, calls)
    totals = {
        "rollouts": names[first + 1 : asked],
        "optimizer calls": names[asked + 1 : ends],
        "all calls": calls,
    }
    for total, parts in totals.items():
        assert parts
        assert rows[total] == [sum(ns) for ns in zip(*(rows[part] for part in parts), strict=True)]
    given = skillopt("plan", "searchqa", *SHORT, *settings(case), *accuracy, "--json").json["calls"]
    # Each part of the table is rounded by itself.
    exact = [given[end] for end in ("point", "low", "high")]
    assert rows["all calls"] == pytest.approx(exact, abs=len(calls) / 2)


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


def test_a_cap_on_money_wants_the_model_named_first() -> None:
    remote = ("--target-model", "gpt-5-nano", "--set", "model.backend=openai_compatible")
    ended = refused(2, "plan", "searchqa", *remote, "--max-usd", 1)
    assert "no model is named for the optimizer" in ended.error
    assert ended.hint == "hint: add `--optimizer-model NAME`"


@pytest.mark.parametrize("cap", ["max_rollouts", "max_calls", "max_tokens", "max_minutes"])
def test_a_larger_cap_never_buys_fewer_steps(cap: str) -> None:
    flag = f"--{cap.replace('_', '-')}"
    limits = [0.01, 1, 6, 10**4] if cap == "max_minutes" else [1, 60, 200, 1000, 10**7]
    bought = [planned(SIZES, flag, str(limit))["caps"][0]["steps"] for limit in limits]
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
    schedule = read_schedule(Path("outputs/searchqa/a"))
    assert schedule is not None and len(schedule.steps) == 4 - done
    again = skillopt("resume", "outputs/searchqa/a")
    assert "Plan:" not in again.err


def test_pruning_counts_the_selection_split_for_each_block() -> None:
    given = ("plan", "searchqa", *TINY)
    assert "pruning" not in skillopt(*given).out
    out = skillopt(*given, "--set", "optimizer.prune=true").out
    assert "Pruning counts the blocks of the seed skill, and one for each edit." in out
    assert "\n  pruning " in out
    plain, pruning = (
        planned(TINY, "--set", f"optimizer.prune={prune}")["rollouts"] for prune in (False, True)
    )
    assert pruning["by_stage"]["prune"]["high"] % 8 == 0
    for end in ("point", "high"):
        more = pruning["by_stage"]["prune"][end]
        assert pruning[end] == pytest.approx(plain[end] + more)


def test_a_tiny_selection_split_is_warned_of() -> None:
    told = "the selection split has only 8 tasks"
    assert told in skillopt("plan", "searchqa", *TINY).out
    # The run itself states so when it begins, and once is enough.
    begun = skillopt("train", "searchqa", *TINY, "--run-id", "a").err
    assert begun.count("below 0.62 can be chance") == 1 and told not in begun
    assert not planned()["warnings"]


@pytest.mark.parametrize(("chars", "told"), [(39_000, ""), (41_000, "10,000"), (10**6, "250,000")])
@pytest.mark.parametrize("in_folder", [False, True])
def test_a_long_seed_skill_is_warned_of(chars: int, told: str, in_folder: bool) -> None:
    Path("skill").mkdir()
    line = "- a rule among a great many others\n"
    text = line * (chars // len(line))
    # A target that opens no files reads those of a folder with the rest.
    half = len(text) // 2 if in_folder else len(text)
    Path("skill/SKILL.md").write_text(text[:half], encoding="utf-8")
    Path("skill/more.md").write_text(text[half:], encoding="utf-8")
    named = ("--skill-init", "skill" if in_folder else "skill/SKILL.md")
    remote = (
        "--target-backend=openai_compatible",
        "--target-model=t",
        "--set=model.base_url=http://x",
    )
    prices = "--set=model.prices=[{model: t, input: 2, output: 8}]"
    warnings = skillopt("plan", "searchqa", *TINY, *named, "--json").json["warnings"]
    said = f"characters, about {told} tokens that every call reads"
    long = [w for w in warnings if "seed skill" in w]
    assert [w.startswith("Warning: the seed skill is long: ") for w in long] == [True] * bool(told)
    if told:
        assert long[0].endswith(said)
        priced = skillopt("plan", "searchqa", *TINY, *named, *remote, prices, "--json").json
        usd = "$0.0205" if told == "10,000" else "$0.50"
        assert any(w.endswith(f"{said}: {usd} in each of the target") for w in priced["warnings"])


def test_the_short_form_comes_first_and_never_on_stdout() -> None:
    ended = skillopt("train", "searchqa", *TINY, "--run-id", "a")
    assert ended.err.startswith("Plan: 4 steps, ")
    schedule = read_schedule(Path("outputs/searchqa/a"))
    assert schedule is not None and len(schedule.steps) == 4
    assert "Plan:" not in ended.out
    as_json = skillopt("train", "searchqa", *TINY, "--run-id", "b", "--json")
    assert "Plan:" not in as_json.out + as_json.err


@pytest.mark.parametrize("flag", ["--best-step", "--last-step"])
def test_a_step_beyond_the_last_is_a_usage_error(flag: str) -> None:
    ended = refused(2, "plan", "searchqa", *TINY, flag, "5")
    assert ended.error == f"error: {flag} 5 is beyond the last step, 4"


def test_a_gain_that_no_split_of_its_size_could_show_is_no_number() -> None:
    told = skillopt("plan", "searchqa", *TINY).out
    assert (
        "The selection split has 8 tasks: one is 12.5 points; if two skills differ on 20%" in told
    )
    assert (
        told.count("no gain is distinguishable from chance; if none is lost, one of 70 points is")
        == 1
    )
    gains = planned()["smallest_gain"]["test"]
    assert gains["detectable"] is None
    assert gains["one_task"] < gains["without_loss"] < 0.25
    larger = planned(SIZES, "--set", "evaluation.test_env_num=60")["smallest_gain"]["test"]
    assert larger["without_loss"] < larger["detectable"] < 0.2
    few = skillopt("plan", "searchqa", *TINY, "--set", "evaluation.sel_env_num=4").out
    assert "one is 25.0 points; no gain is distinguishable from chance" in few
    assert "only 4 tasks: any measured gain can be chance" in few
    # As `data check` has it: five tasks that change for the better are no chance.
    assert (
        "only 8 tasks: measured gains below 0.62 can be chance, and only a true gain of 0.70 or"
        " more will likely measure as much"
    ) in told


def test_a_plan_counts_the_calls_of_a_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = benchmark("verdicts").replace("open=open_sums)", "open=open_sums, judged=True)")
    points = {"benchmark": {"verdicts": "verdicts_bench:SPEC"}}
    install(tmp_path, monkeypatch, {"verdicts_bench": source}, points)
    told = "A model judges what is not plainly right or wrong"
    small = ("--set", "train.train_size=0", "--set", "evaluation.sel_env_num=0")
    small += ("--set", "evaluation.test_env_num=0")
    out = skillopt("plan", "verdicts", *TINY, *small).out
    assert told in out and "\njudge calls " in out
    assert told not in skillopt("plan", "searchqa", *TINY).out
    judged, plain = (
        skillopt("plan", name, *TINY, *small, "--json").json for name in ("verdicts", "searchqa")
    )
    assert judged["preflight_calls"] == plain["preflight_calls"] + 1
    assert judged["calls"]["high"] > judged["rollouts"]["high"] * 2
    assert plain["judge_calls"]["high"] == 0
    for end in ("low", "point", "high"):
        parts = sum(judged[what][end] for what in ("rollouts", "optimizer_calls", "judge_calls"))
        assert judged["calls"][end] == pytest.approx(parts + judged["preflight_calls"])


def test_an_accuracy_beyond_one_is_a_usage_error() -> None:
    refused(2, "plan", "searchqa", *TINY, "--accuracy", "1.5")


PICTURES = ("docvqa", "--target-backend", "local", "--optimizer-backend", "rules")
REFUSED = [
    PICTURES,
    ("sealqa", "--set", "env.search_mode=offline", *PICTURES[1:], JUDGE),
    ("searchqa", *SIMULATED, "--set", "optimizer.prompts_dir=nowhere"),
    ("searchqa", *SIMULATED, "--set", "run.executor=namespace"),
    (
        "searchqa",
        *SIMULATED,
        *PUBLISHED,
        "--skill-init",
        "mine",
        "--set",
        "env.editable=[notes.md]",
    ),
]


@pytest.mark.parametrize("order", REFUSED)
def test_what_a_training_refuses_the_plan_refuses_with_the_same_words(
    order: tuple[str, ...],
) -> None:
    Path("mine").mkdir()
    for name in ("SKILL.md", "notes.md"):
        Path("mine", name).write_text("# Mine\n\nRead.\n", encoding="utf-8")
    # No program is on this path, so that no namespace can be had.
    trained, planned = (skillopt(verb, *order, PATH="nowhere") for verb in ("train", "plan"))
    assert (planned.code, planned.error, planned.hint) == (2, trained.error, trained.hint)
    assert trained.code == 2
