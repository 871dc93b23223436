"""How near a plan comes to the calls a training makes: `python bench/plan.py [SEEDS]`.

Trains on the simulated models, with so many seeds (4 unless told otherwise): 23 settings of the
published method without early rejection (some two seconds each), and 14 settings of the preset
`default`, whose edits are verified (some four). Plans each of them: told nothing, told what
accuracies tell (the share of train tasks solved, and which step made the best skill), told as well
what else has a flag (the share of texts that were no new ones, attempts that verify edits, the step
at which all was solved), planned like itself, which takes all of that from the run, and like the
run of another seed. The point is held against the calls counted in the run's log, of the plan like
itself against the tokens too; the range must hold them in every case.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from skillopt_cli.cli.app import app

SHARES = (0.05, 0.1)
SIMULATED: dict[str, object] = {"model.backend": "simulated", "run.workers": 24}
PUBLISHED: dict[str, object] = {
    **SIMULATED,
    "gradient.failure_only": "false",
    "optimizer.learning_rate": 4,
    "optimizer.lr_scheduler": "cosine",
    "optimizer.merge": "model",
    "optimizer.verify": "off",
    "optimizer.reflect_rounds": 1,
    "optimizer.rejected_memory": "step",
    "optimizer.rerun_solved": 1,
    "optimizer.use_slow_update": "true",
    "optimizer.use_meta_skill": "true",
    "evaluation.gate_policy": "strict",
    "train.num_epochs": 2,
    "train.batch_size": 15,
    "optimizer.slow_update_samples": 6,
    "evaluation.sel_env_num": 30,
    "evaluation.test_env_num": 30,
    "evaluation.early_reject": "false",
}
SMALL: dict[str, object] = {
    "train.batch_size": 8,
    "train.train_size": 24,
    "optimizer.slow_update_samples": 4,
    "evaluation.sel_env_num": 16,
    "evaluation.test_env_num": 16,
}
GATED: dict[str, object] = {"optimizer.slow_update_gate_with_selection": "true"}
PLAIN: dict[str, object] = {"optimizer.use_slow_update": "false"}
CASES: list[dict[str, object]] = [
    {},
    {"train.batch_size": 20, "train.num_epochs": 3},
    {"train.accumulation": 2},
    GATED,
    PLAIN,
    {**PLAIN, "optimizer.use_meta_skill": "false"},
    {"optimizer.skill_update_mode": "rewrite_from_suggestions"},
    {"optimizer.skill_update_mode": "full_rewrite_minibatch"},
    {"optimizer.use_skill_aware_reflection": "true"},
    {"gradient.failure_only": "true"},
    {"gradient.minibatch_size": 3, "gradient.merge_batch_size": 2},
    {"evaluation.eval_no_skill": "true"},
    {"evaluation.use_gate": "false"},
    {"env.from_scratch": "true", "evaluation.eval_no_skill": "true"},
    {"optimizer.lr_control_mode": "autonomous"},
    {"optimizer.longitudinal_pair_policy": "changed"},
    {"evaluation.patience": 1},
    SMALL,
    {**SMALL, **GATED},
    {**SMALL, **PLAIN},
    {**SMALL, "evaluation.use_gate": "false"},
    {**SMALL, "evaluation.patience": 2},
    {**SMALL, "evaluation.eval_no_skill": "true"},
]
FEW: dict[str, object] = {
    "train.batch_size": 10,
    "train.train_size": 40,
    "evaluation.sel_env_num": 20,
    "evaluation.test_env_num": 20,
}
VERIFIED: list[dict[str, object]] = [
    {},
    FEW,
    {"train.num_epochs": 2},
    {"optimizer.verify": "joint"},
    {"optimizer.reflect_rounds": 1},
    {**FEW, "optimizer.reflect_rounds": 3},
    {**FEW, "optimizer.check_passing": "true", "optimizer.prune": "true"},
    {**FEW, "optimizer.rerun_solved": 1},
    {"optimizer.verify_tasks": 1, "evaluation.confirm_fraction": 0.3},
    {"gradient.failure_only": "false", "optimizer.learning_rate": 4},
    {"optimizer.use_slow_update": "true", "optimizer.use_meta_skill": "true"},
    {**FEW, "evaluation.patience": 2},
    {"model.simulated.right_rate": 0.9, "model.simulated.harmful_rate": 0.05},
    {"model.simulated.flaky_rate": 0.2, "model.simulated.noise": 0.1},
]
KINDS = {"published": (PUBLISHED, CASES), "verified": (SIMULATED, VERIFIED)}
TOLD: dict[str, tuple[str, ...]] = {
    "told nothing": (),
    "told accuracies": ("accuracy", "best_step"),
    "told all": ("accuracy", "best_step", "unchanged", "measured", "trials", "last_step"),
}


def main() -> None:
    seeds = range(1, 1 + int(sys.argv[1])) if sys.argv[1:] else range(1, 5)
    for kind, (base, cases) in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            compare(kind, [{**base, **case, "env.out_root": folder} for case in cases], seeds)


def compare(kind: str, cases: list[dict[str, object]], seeds: range) -> None:
    """Train and plan every case with every seed, and print how far the plans are off."""
    errors: dict[str, list[float]] = {}
    outside = 0
    for number, case in enumerate(cases):
        runs = [Path(str(case["env.out_root"]), "searchqa", f"{number}-{seed}") for seed in seeds]
        spent = [trained(case, seed, run) for seed, run in zip(seeds, runs, strict=True)]
        for i, seed in enumerate(seeds):
            for told, used, plan in planned(case, seed, (runs[i], runs[i - 1]), spent[i]):
                errors.setdefault(told, []).append(plan["point"] / used - 1)
                outside += not plan["low"] <= used <= plan["high"]
    print(f"{kind}: {len(cases) * len(seeds)} trainings; ranges that did not hold: {outside}")
    for told, off in errors.items():
        within = (
            f"{sum(abs(error) <= share for error in off)} within {share:.0%}" for share in SHARES
        )
        ends = f"off by {min(off):+.1%} to {max(off):+.1%}"
        print(f"  {told:20} {', '.join(within)} of {len(off)}; {ends}")


def settings(values: dict[str, object]) -> Iterator[str]:
    for key, value in values.items():
        yield from ("--set", f"{key}={value}")


def trained(case: dict[str, object], seed: int, run: Path) -> tuple[int, int]:
    """Train, and count the calls and their tokens."""
    words = settings({**case, "train.seed": seed})
    skillopt("train", *words, "--run-id", run.name, "--display", "none")
    lines = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line)["event"] for line in lines]
    made = [event for event in events if event["kind"] == "call_made"]
    usages = [event["usage"] for event in made if event["stage"] != "preflight"]
    tokens = sum(usage["prompt_tokens"] + usage["completion_tokens"] for usage in usages)
    return len(made), tokens


def planned(
    case: dict[str, object], seed: int, runs: tuple[Path, Path], spent: tuple[int, int]
) -> Iterator[tuple[str, int, dict[str, float]]]:
    """What was told, the calls or tokens spent, and the range of them.

    Args:
        runs: the training itself, and one of another seed.
    """
    words, (calls, tokens) = list(settings({**case, "train.seed": seed})), spent
    like, other = (
        json.loads(skillopt("plan", *words, "--like", str(run), "--json")) for run in runs
    )
    for told, names in TOLD.items():
        known = {name: like["like"][name] for name in names}
        flags = [
            f"--{n.replace('_', '-')}={value}" for n, value in known.items() if value is not None
        ]
        yield told, calls, json.loads(skillopt("plan", *words, *flags, "--json"))["calls"]
    yield "like itself", calls, like["calls"]
    yield "like another seed", calls, other["calls"]
    yield "tokens, like itself", tokens, like["tokens"]


def skillopt(command: str, *arguments: str) -> str:
    ended: Any = CliRunner().invoke(app, [command, "searchqa", *arguments])
    if ended.exit_code:
        raise SystemExit(ended.output)
    return str(ended.stdout)


if __name__ == "__main__":
    main()
