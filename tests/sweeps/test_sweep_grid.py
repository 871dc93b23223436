"""Grid files: what they say, and what is refused before anything is spent."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_cli.compose.settings import Overrides
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.sweeps.grid import SweepGrid, ValueRange, read_grid
from skillopt_cli.sweeps.trials import TrialFactory, trial_label

USUAL = """\
benchmark: searchqa
preset: tiny
fixed:
  train.num_epochs: 1
grid:
  optimizer.learning_rate: [2, 4]
  optimizer.lr-scheduler: [cosine, constant]
seeds: [1, 2]
"""
SMALL = USUAL.replace("  optimizer.lr-scheduler: [cosine, constant]\n", "").replace("1, 2]", "1]")


def grid(text: str, name: str = "rates.yaml") -> SweepGrid:
    path = Path(name)
    path.write_text(text, encoding="utf-8")
    return read_grid(path)


def maker(text: str, **overrides: object) -> TrialFactory:
    return TrialFactory(grid(text), Overrides(**overrides), {})  # type: ignore[arg-type]


def refusal(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        TrialFactory(grid(text), Overrides(), {}).all()
    assert caught.value.hint or "(rates.yaml)" in caught.value.message
    return caught.value


def test_every_combination_is_trained_with_every_seed() -> None:
    trials = maker(USUAL).all()
    assert [trial_label(t, grid(USUAL).axes) for t in trials[:3]] == [
        "learning_rate=2, lr_scheduler=cosine, seed 1",
        "learning_rate=2, lr_scheduler=cosine, seed 2",
        "learning_rate=2, lr_scheduler=constant, seed 1",
    ]
    assert len({t.run_id for t in trials}) == len(trials) == 8
    rates = {(t.config.optimizer.learning_rate, t.config.train.seed) for t in trials}
    assert rates == {(2, 1), (2, 2), (4, 1), (4, 2)}
    assert {t.config.train.num_epochs for t in trials} == {1}
    assert {t.config.env.name for t in trials} == {"searchqa"}


def test_all_runs_share_a_journal_unless_one_is_named() -> None:
    shared = {t.config.run.cache_dir for t in maker(SMALL).all()}
    assert shared == {str(Path("outputs/sweeps/rates").absolute())}
    own = maker(SMALL, assignments=("run.cache_dir=mine",)).all()
    assert {t.config.run.cache_dir for t in own} == {"mine"}


def test_a_run_id_says_what_can_alter_a_score_and_nothing_else() -> None:
    ids = [t.run_id for t in maker(SMALL).all()]
    next_trials = SMALL.replace("[2, 4]", "[1, 2, 4]").replace("seeds: [1]", "seeds: [2, 1]")
    assert set(ids) < {t.run_id for t in maker(next_trials).all()}
    assert ids == [t.run_id for t in maker(SMALL, flags={"run.workers": 3}).all()]
    other = maker(SMALL.replace("num_epochs: 1", "num_epochs: 2")).all()
    assert not set(ids) & {t.run_id for t in other}


def test_flags_win_over_what_is_fixed_and_may_not_touch_what_varies() -> None:
    trials = maker(SMALL, flags={"train.num_epochs": 3}).all()
    assert {t.config.train.num_epochs for t in trials} == {3}
    for key, value in (("optimizer.learning_rate", 1), ("train.seed", 1)):
        with pytest.raises(ConfigError, match=f"`{key}` is set on the command line"):
            maker(SMALL, flags={key: value})
    with pytest.raises(ConfigError, match="lr_scheduler"):
        maker(USUAL, assignments=("optimizer.lr-scheduler=linear",))


def test_a_grid_wins_over_variables() -> None:
    variables = {"SKILLOPT_OPTIMIZER__LEARNING_RATE": "7", "SKILLOPT_TRAIN__NUM_EPOCHS": "7"}
    trials = TrialFactory(grid(SMALL), Overrides(), variables).all()
    assert {t.config.optimizer.learning_rate for t in trials} == {2, 4}
    assert {t.config.train.num_epochs for t in trials} == {1}


def test_values_are_read_by_what_their_key_wants() -> None:
    text = SMALL.replace("optimizer.learning_rate: [2, 4]", "env.editable: [[a, b], null]")
    text = text.replace("num_epochs: 1", "num_epochs: 1\n  model.target.name: 007")
    trials = maker(text).all()
    assert {t.config.env.editable for t in trials} == {("a", "b"), None}
    assert trial_label(trials[1]).startswith("env.editable=unset")
    assert {t.config.model.target.name for t in trials} == {"007"}


def test_a_configuration_file_is_looked_for_beside_the_grid() -> None:
    Path("sub").mkdir()
    Path("sub/base.yaml").write_text("train:\n  batch_size: 3\n", encoding="utf-8")
    text = SMALL.replace("preset: tiny", "preset: tiny\nconfig: base.yaml")
    trials = TrialFactory(grid(text, "sub/rates.yaml"), Overrides(), {}).all()
    assert {t.config.train.batch_size for t in trials} == {3}


def test_a_search_takes_bounds() -> None:
    found = grid("grid:\n  optimizer.learning_rate: {low: 1, high: 8, log: true}\nsearch: {}\n")
    (axis,) = found.axes
    assert isinstance(axis.values, ValueRange)
    assert axis.values.whole and axis.values.log
    assert found.size == 20


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("grid:", "grids:", "unknown key `grids`"),
        ("[2, 4]", "[]", "needs a list of values"),
        ("[2, 4]", "2", "needs a list of values"),
        ("[2, 4]", "[2, 2]", "lists `2` twice"),
        ("[2, 4]", "{low: 1, high: 4}", "no `search`"),
        ("[2, 4]", "[2, 0]", "`optimizer.learning_rate` (rates.yaml) must be at least 1"),
        ("optimizer.learning_rate", "optimizer.learning_rte", "unknown configuration key"),
        ("optimizer.learning_rate", "learning_rate", "not of the form section.key"),
        ("optimizer.learning_rate", "train.seed", "cannot be part of the grid"),
        ("optimizer.learning_rate", "env.name", "cannot be part of the grid"),
        ("optimizer.learning_rate", "train.num_epochs", "in `grid` and in `fixed`"),
        ("optimizer.learning_rate", "run.workers", "are the same run"),
        ("seeds: [1, 2]", "seeds: [1, 1]", "lists the seed"),
        ("seeds: [1, 2]", "seeds: one", "`seeds` must be"),
        ("train.num_epochs: 1", "train.seed: 1", "`train.seed` is fixed"),
        ("benchmark: searchqa", "", "no benchmark is named"),
        ("benchmark: searchqa", "benchmark: nowhere", "nowhere"),
        ("preset: tiny", "name: a/b", "not a valid name for a sweep"),
        ("preset: tiny", "caps: {max_usd: 0}", "`caps.max_usd` must be above 0"),
        ("preset: tiny", "search: {prune: true}", "cannot judge a combination by one of its 2"),
        ("preset: tiny", "search: {sampler: magic}", "`search.sampler` must be"),
    ],
)
def test_what_cannot_be_is_said_by_name(old: str, new: str, said: str) -> None:
    assert old in USUAL
    assert said in refusal(USUAL.replace(old, new)).message


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("grids: {}", "did you mean `grid`?"),
        ("search: {trails: 2}", "did you mean `search.trials`?"),
        ("zzz: 1", "a grid file holds name, benchmark, "),
    ],
)
def test_a_misspelt_key_gets_a_suggestion(wrong: str, hint: str) -> None:
    assert refusal(f"{USUAL}{wrong}\n").hint.startswith(hint)


def test_a_search_does_not_choose_what_a_score_is() -> None:
    text = "grid:\n  evaluation.gate_metric: [hard, soft]\n"
    assert grid(text).size == 2
    assert "cannot choose `evaluation.gate_metric`" in refusal(f"{text}search: {{}}\n").message


def test_bounds_that_hold_nothing_are_refused() -> None:
    for bounds in ("{low: 4, high: 1}", "{low: 0, high: 1, log: true}", "{low: 1}"):
        text = f"grid:\n  optimizer.learning_rate: {bounds}\nsearch: {{}}\n"
        assert "optimizer.learning_rate" in refusal(text).message


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match=r"there is no grid file gone\.yaml") as caught:
        read_grid(Path("gone.yaml"))
    # An installed program has no folder of documents; what it names instead is a grid.
    assert "docs/" not in caught.value.hint
    form = caught.value.hint.split("`")[1]
    Path("shown.yaml").write_text(form, encoding="utf-8")
    assert [axis.key for axis in read_grid(Path("shown.yaml")).axes] == ["optimizer.learning_rate"]


@pytest.mark.parametrize("text", ["a: [1\n", "- 1\n"])
def test_a_grid_that_cannot_be_read_hints_at_the_form_of_a_grid(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        grid(text)
    assert "grid: {optimizer.learning_rate: [4, 8]}" in str(caught.value.hint)
