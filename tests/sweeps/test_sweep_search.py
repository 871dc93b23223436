"""A search: what is chosen follows from seed and scores, whatever was killed in between."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sweep_rig import finished, stopped, view

from skillopt_cli.compose.settings import Overrides
from skillopt_cli.config.layers import Strength, leaf_layer, resolve
from skillopt_cli.core.errors import UsageError
from skillopt_cli.sweeps.grid import Settings, read_grid
from skillopt_cli.sweeps.search import SearchSource
from skillopt_cli.sweeps.trials import Trial, TrialFactory

pytest.importorskip("optuna")

TEXT = """\
benchmark: searchqa
preset: tiny
grid:
  optimizer.learning_rate: {low: 1, high: 64, log: true}
  evaluation.gate_mixed_weight: {low: 0, high: 1}
  optimizer.lr_scheduler: [cosine, constant]
search: {trials: 6, seed: 3}
"""


class Quick(TrialFactory):
    """Makes trials without asking plug-ins, which takes long."""

    @property
    def home(self) -> Path:
        return Path("outputs/sweeps/find")

    @property
    def base(self) -> str:
        return self.grid.preset

    def of(self, settings: Settings) -> Iterator[Trial]:
        layers = [leaf_layer("grid", key, text, Strength.FLAG) for key, text in settings]
        config = resolve(layers).config
        name = "-".join(text for _, text in settings)
        for seed in self.grid.seeds or (None,):
            yield Trial(settings, seed, f"{name}-{seed}", config)


def searched(text: str = TEXT) -> SearchSource:
    path = Path("find.yaml")
    path.write_text(text, encoding="utf-8")
    maker = Quick(read_grid(path), Overrides(), {})
    maker.home.mkdir(parents=True, exist_ok=True)
    return SearchSource(maker)


def score(trial: Trial) -> float:
    return 1.0 / trial.config.optimizer.learning_rate


def whole(search: SearchSource, most: int = 99) -> list[str]:
    """Go on with a search; the run ids, in the order they were chosen."""
    chosen = []
    while len(chosen) < most and (trials := search.next_trials()):
        for trial in trials:
            chosen.append(trial.run_id)
            search.record_end(trial, finished(best=score(trial)))
    return chosen


def test_values_lie_within_their_bounds() -> None:
    search = searched()
    assert len(whole(search)) == 6
    for trial in search.trials:
        assert 1 <= trial.config.optimizer.learning_rate <= 64
        assert 0 <= trial.config.evaluation.gate_mixed_weight <= 1
        assert trial.config.optimizer.lr_scheduler in ("cosine", "constant")


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_a_killed_search_chooses_as_if_it_had_not_been(sampler: str) -> None:
    text = TEXT.replace("seed: 3", f"seed: 3, sampler: {sampler}")
    unkilled = whole(searched(text))
    Path("outputs/sweeps/find/study.log").unlink()
    before = searched(text)
    first = whole(before, 3)
    (lost,) = before.next_trials()  # chosen and never heard of again
    again = searched(text)
    assert [t.run_id for t in again.trials] == [*first, lost.run_id]
    rest = whole(again)
    assert rest[0] == lost.run_id
    assert first + rest == unkilled


def test_more_trials_go_on_with_the_same_search() -> None:
    first = whole(searched())
    second = whole(searched(TEXT.replace("trials: 6", "trials: 8")))
    assert len(second) == 2
    assert not set(first) & set(second)
    assert whole(searched(TEXT.replace("trials: 6", "trials: 8"))) == []


def test_other_bounds_or_settings_are_another_search() -> None:
    whole(searched(), 2)
    assert searched(TEXT.replace("high: 64", "high: 32")).trials == []
    assert searched(TEXT.replace("preset: tiny", "preset: paper")).trials == []


def test_all_seeds_of_a_choice_count_together() -> None:
    search = searched(TEXT.replace("search:", "seeds: [1, 2]\nsearch:"))
    one, other = search.next_trials()
    assert (one.seed, other.seed) == (1, 2)
    search.record_end(one, finished(best=0.2))
    assert search._study.trials[0].value is None
    search.record_end(other, finished(best=0.6))
    assert search._study.trials[0].value == pytest.approx(0.4)


def test_a_failed_run_is_no_score_and_the_next_sweep_tries_it_again() -> None:
    search = searched(TEXT.replace("trials: 6", "trials: 2"))
    (failed,) = search.next_trials()
    search.record_end(failed, stopped(1, 4))
    (other,) = search.next_trials()
    search.record_end(other, finished(best=0.4))
    assert search.next_trials() == []
    assert [t.value for t in search._study.trials] == [None, 0.4]
    again = searched(TEXT.replace("trials: 6", "trials: 2"))
    assert [t.run_id for t in again.next_trials()] == [failed.run_id]
    again.record_end(failed, finished(best=0.6))
    assert again.next_trials() == []
    assert [t.value for t in again._study.trials] == [0.6, 0.4]


def test_of_a_choice_with_a_failed_run_the_others_are_kept() -> None:
    text = TEXT.replace("search:", "seeds: [1, 2]\nsearch:")
    search = searched(text)
    one, other = search.next_trials()
    search.record_end(one, stopped(1, 4))
    search.record_end(other, finished(best=0.6))
    again = searched(text)
    assert [t.run_id for t in again.next_trials()] == [one.run_id, other.run_id]
    again.record_end(other, finished(best=0.6))
    again.record_end(one, finished(best=0.2))
    assert again._study.trials[0].value == pytest.approx(0.4)


def test_a_run_below_the_median_is_given_up_for_good() -> None:
    text = TEXT.replace("seed: 3", "seed: 3, prune: true, sampler: random")
    search = searched(text)
    assert search.wants_progress
    for best in (0.6, 0.7, 0.8):
        (trial,) = search.next_trials()
        for done in (1, 2, 3):
            assert not search.should_prune(trial, view(best=best, done=done))
        search.record_end(trial, finished(best=best))
    (good,) = search.next_trials()
    (bad,) = search.next_trials()
    assert not search.should_prune(good, view(best=0.9, done=2))
    assert not search.should_prune(bad, view(best=0.1, done=0))
    assert search.should_prune(bad, view(best=0.1, done=2))
    search.record_end(bad, stopped(5, 130))
    assert search.pruned == {bad.run_id}
    assert searched(text).pruned == {bad.run_id}
    assert [t.run_id for t in searched(text).next_trials()] == [good.run_id]


def test_a_run_that_breaks_down_is_not_taken_for_one_that_was_given_up() -> None:
    text = TEXT.replace("seed: 3", "seed: 3, prune: true")
    search = searched(text)
    (trial,) = search.next_trials()
    assert not search.should_prune(trial, view(best=0.6, done=1))
    search.record_end(trial, stopped(5, 4))
    assert search._study.trials[0].state.name == "RUNNING"
    assert searched(text).pruned == set()


def test_without_the_package_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UsageError) as caught:
        searched()
    assert "skillopt-cli[sweep]" in caught.value.hint
