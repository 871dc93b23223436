"""Every two settings of the update together, in runs that keep what a run promises."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pytest

from skillopt_cli.core.events import (
    BaselineMeasured,
    CheckpointSaved,
    GateDecided,
    SlowUpdateDecided,
    StepStarted,
)
from skillopt_cli.core.skill import APPENDIX, FRONT_MATTER, SLOW_UPDATE, SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.engine.session import train_session
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.history import VOLATILE, history
from skillopt_cli.stages import measure
from skillopt_cli.testing import MemoryStore, Toy, ToyBenchmark, toy_run, toy_session

FACTORS: dict[str, dict[str, tuple[str, ...]]] = {
    "mode": {
        mode: (f"optimizer.skill_update_mode={mode}",)
        for mode in ("patch", "rewrite_from_suggestions", "full_rewrite_minibatch")
    },
    "gate": {"gate": (), "no_gate": ("evaluation.use_gate=false",)},
    "slow": {
        "gated": ("optimizer.slow_update_gate_with_selection=true",),
        "forced": ("optimizer.slow_update_gate_with_selection=false",),
        "off": ("optimizer.use_slow_update=false",),
    },
    "meta": {
        "meta": ("optimizer.use_meta_skill=true",),
        "no_meta": ("optimizer.use_meta_skill=false",),
    },
    "aware": {
        "aware": ("optimizer.use_skill_aware_reflection=true", "model.simulated.lapse_rate=0.5"),
        "unaware": ("optimizer.use_skill_aware_reflection=false",),
    },
    "rate": {
        mode: (f"optimizer.lr_control_mode={mode}",) for mode in ("fixed", "autonomous", "none")
    },
}
Case = tuple[str, ...]


def pairs(case: Case) -> set[tuple[tuple[int, str], ...]]:
    return set(itertools.combinations(enumerate(case), 2))


def pairwise() -> Iterator[Case]:
    """Few cases that hold every pair of settings: always the one that adds most pairs."""
    every = list(itertools.product(*FACTORS.values()))
    open_pairs = set().union(*map(pairs, every))
    while open_pairs:
        best = max(every, key=lambda case: len(pairs(case) & open_pairs))
        open_pairs -= pairs(best)
        yield best


CASES = list(pairwise())


class Marked(ToyBenchmark):
    """Tasks with a seed skill that has something to protect."""

    seed_skill = (
        "---\nname: reading\n---\n\n# Reading\n\nAnswer the question from the text.\n\n"
        "<!-- APPENDIX_START -->\n- read twice\n<!-- APPENDIX_END -->\n"
    )


class Stopping(MemoryStore):
    """A store whose process is gone after its nth checkpoint."""

    def __init__(self, nth: int) -> None:
        super().__init__()
        self.left = nth

    def save_state(self, state: TrainState) -> None:
        super().save_state(state)
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def made(case: Case) -> Toy:
    chosen = [FACTORS[factor][level] for factor, level in zip(FACTORS, case, strict=True)]
    settings = itertools.chain(
        ("train.batch_size=3", "run.workers=1", "gradient.analyst_workers=1"), *chosen
    )
    benchmark = Marked({"train": 6, "selection": 6, "test": 1}, seed=11)
    return Toy(tuple(settings), benchmark=benchmark)


def outcome(store: MemoryStore) -> dict[str, object]:
    records = [
        {key: value for key, value in record.items() if key not in VOLATILE}
        for record in history(fold(store.facts()))
    ]
    return {"state": store.load_state(), "records": records, "files": store.files}


def guarded(text: str, *leaving_out: str) -> dict[str, str]:
    """Protected regions of a text, byte for byte."""
    skill = SkillDocument(text)
    return {r.name: text[r.start : r.end] for r in skill.regions if r.name not in leaving_out}


def test_the_cases_hold_every_pair() -> None:
    every = set().union(*map(pairs, itertools.product(*FACTORS.values())))
    assert set().union(*map(pairs, CASES)) == every
    assert len(CASES) < 16


@pytest.mark.parametrize("case", CASES, ids="-".join)
async def test_a_run_keeps_its_promises(case: Case) -> None:
    toy, store = made(case), MemoryStore()
    assert await train_session(toy_session(toy, store)) == 0
    state = store.load_state()
    assert state is not None
    check_regions(store, *((APPENDIX,) if "aware" in case else ()))
    await check_best(toy, store, state)
    check_records(store, case)
    for nth in range(1, len(store.states) + 1):
        stopped = Stopping(nth)
        with pytest.raises(KeyboardInterrupt):
            await train_session(toy_session(toy, stopped))
        stopped.left = -1
        assert await train_session(toy_session(toy, stopped)) == 0
        assert outcome(stopped) == outcome(store)


def check_regions(store: MemoryStore, *written: str) -> None:
    """No step touches a region but those it writes; the slow update only its own."""
    seed = store.files["skills/step_0000.md"]
    for number in range(1, len(store.states)):
        before = store.files[f"skills/step_{number - 1:04d}.md"]
        after = store.files[f"skills/step_{number:04d}.md"]
        candidate = store.files[f"steps/step_{number:04d}/candidate_skill.md"]
        assert guarded(candidate, *written) == guarded(before, *written)
        assert guarded(after, SLOW_UPDATE, *written) == guarded(seed, *written)
    assert FRONT_MATTER in guarded(store.files["best_skill.md"])


async def check_best(toy: Toy, store: MemoryStore, state: TrainState) -> None:
    """The best text is the best one measured, and its score is that of measuring it afresh."""
    assert store.files["best_skill.md"] == state.best.skill.text
    fresh = await measure(toy_run(toy), state.best.skill, "selection")
    assert fresh.marks == state.best.marks
    if not any("with_selection=false" in setting for setting in toy.settings):
        assert state.best.hard == max(measured_scores(store))


def measured_scores(store: MemoryStore) -> list[float]:
    """Hard scores of all texts that were measured in full and accepted, the seed's first."""
    scores = []
    for fact in store.facts():
        match fact.event:
            case BaselineMeasured(hard=hard):
                scores.append(hard)
            case GateDecided(hard=hard, decision=decision) if decision.accepted:
                scores.append(hard)
            case SlowUpdateDecided(hard=hard, decision=decision) if decision and decision.accepted:
                scores.append(hard)
    return [score for score in scores if score is not None]


def check_records(store: MemoryStore, case: Case) -> None:
    mode, rate = case[0], case[list(FACTORS).index("rate")]
    control = "none" if mode == "full_rewrite_minibatch" else rate
    events = [fact.event for fact in store.facts()]
    records = history(fold(store.facts()))
    assert len(records) == len([e for e in events if isinstance(e, StepStarted)]) == 4
    assert len([e for e in events if isinstance(e, CheckpointSaved)]) == 5
    for record in records:
        decided = control == "autonomous" and record["n_edits_merged"] > 0
        assert record["lr_control_mode"] == control
        assert ("lr_decision" in record) == decided
        assert (record["edit_budget"] is None) == (control == "none")
        folder = f"steps/step_{record['step']:04d}"
        reported = json.loads(store.files[f"{folder}/edit_report.json"])
        assert len(reported) == record["edit_apply_summary"]["total"]
        rewritten = f"{folder}/rewrite_result.json" in store.files
        assert rewritten == (mode != "patch" and record["n_edits_ranked"] > 0)
