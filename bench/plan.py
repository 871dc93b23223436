"""How near a plan comes to the calls a training makes: `python bench/plan.py [SEEDS]`.

Trains on the simulated models, 23 settings by so many seeds (4 unless told otherwise, some two
seconds each), without early rejection. Then plans each of them four times: told nothing, told what
accuracies tell (the share of train tasks solved, and which step made the best skill), told as well
how many texts were no new ones, and planned like itself, which takes all of that from the run. The
point is held against the calls counted in the run's log, of the last plan against the tokens too;
the range must hold them in every case.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from skillopt_cli.cli.app import app

SHARE = 0.05
BASE = {
    "model.backend": "simulated",
    "run.workers": 24,
    "train.num_epochs": 2,
    "train.batch_size": 15,
    "optimizer.slow_update_samples": 6,
    "evaluation.sel_env_num": 30,
    "evaluation.test_env_num": 30,
    "evaluation.early_reject": "false",
}
SMALL = {
    "train.batch_size": 8,
    "train.train_size": 24,
    "optimizer.slow_update_samples": 4,
    "evaluation.sel_env_num": 16,
    "evaluation.test_env_num": 16,
}
GATED = {"optimizer.slow_update_gate_with_selection": "true"}
PLAIN = {"optimizer.use_slow_update": "false"}
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
TOLD: dict[str, tuple[str, ...]] = {
    "told nothing": (),
    "told accuracies": ("accuracy", "best_step"),
    "and unchanged texts": ("accuracy", "best_step", "unchanged"),
}


def main() -> None:
    seeds = range(1, 1 + int(sys.argv[1])) if sys.argv[1:] else range(1, 5)
    errors: dict[str, list[float]] = {}
    outside = trainings = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (case, seed) in enumerate(product(CASES, seeds)):
            words = list(settings({**BASE, **case, "train.seed": seed, "env.out_root": folder}))
            run = Path(folder, "searchqa", str(number))
            trainings += 1
            for told, spent, plan in planned(words, run):
                errors.setdefault(told, []).append(plan["point"] / spent - 1)
                outside += not plan["low"] <= spent <= plan["high"]
    print(f"{trainings} trainings; ranges that did not hold what was spent: {outside}")
    for told, off in errors.items():
        within = sum(abs(error) <= SHARE for error in off)
        print(
            f"{told:20} within {SHARE:.0%}: {within} of {len(off)}; "
            f"off by {min(off):+.1%} to {max(off):+.1%}"
        )


def settings(values: dict[str, object]) -> Iterator[str]:
    for key, value in values.items():
        yield from ("--set", f"{key}={value}")


def planned(words: list[str], run: Path) -> Iterator[tuple[str, int, dict[str, float]]]:
    """Train, then plan: what was told, the calls or tokens spent, and the range of them."""
    skillopt("train", *words, "--run-id", run.name, "--display", "none")
    lines = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line)["event"] for line in lines]
    made = [event for event in events if event["kind"] == "call_made"]
    usages = [event["usage"] for event in made if event["stage"] != "preflight"]
    tokens = sum(usage["prompt_tokens"] + usage["completion_tokens"] for usage in usages)
    calls = len(made)
    like = json.loads(skillopt("plan", *words, "--like", str(run), "--json"))
    for told, names in TOLD.items():
        flags = [f"--{name.replace('_', '-')}={like['like'][name]}" for name in names]
        yield told, calls, json.loads(skillopt("plan", *words, *flags, "--json"))["calls"]
    yield "like itself", calls, like["calls"]
    yield "tokens, like itself", tokens, like["tokens"]


def skillopt(command: str, *arguments: str) -> str:
    ended: Any = CliRunner().invoke(app, [command, "searchqa", *arguments])
    if ended.exit_code:
        raise SystemExit(ended.output)
    return str(ended.stdout)


if __name__ == "__main__":
    main()
