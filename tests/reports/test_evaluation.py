"""Results of evaluations in reports: each kind is shown, and a damaged one is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from facts import begun, stamp

from skillopt_cli.compose.eval_plan import write_evaluation
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.events import BlockTried, SkillPruned
from skillopt_cli.reports.arms import deciding_sentence
from skillopt_cli.reports.evaluation import evaluation_blocks, evaluation_of, pruned_blocks
from skillopt_cli.reports.page import as_markdown
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.text.ending import spend_by_role

ARM = {"chars": 61, "n_items": 12, "scored": 12, "value": 0.25, "interval": [0.09, 0.53]}
PAIR = {
    "first": "seed",
    "second": "best",
    "gain": 0.25,
    "interval": [0.02, 0.48],
    "won": 4,
    "lost": 1,
    "tied": 7,
    "p_value": 0.375,
    "p_corrected": 0.75,
}
LINT = {"passed": ["t1"], "failed": [], "flaky": ["t2"], "near_duplicates": [], "quoted": []}
ARMS: dict[str, Any] = {
    "split": "test",
    "metric": "hard",
    "repeats": 2,
    "pairs": [PAIR, {**PAIR, "second": "last"}],
    "lint": LINT,
    "arms": [{**ARM, "name": "seed"}, {**ARM, "name": "best", "value": 0.5}],
}
TARGETS = {
    "split": "test",
    "metric": "hard",
    "repeats": 1,
    "targets": [{**ARMS, "target": "small"}, {**ARMS, "target": "large"}],
}
AA = {
    "gate_policy": "strict",
    "false_accept_rate": 0.125,
    "n_items": 8,
    "repeats": 3,
    "varied": ["t1", "t2"],
}
KIND = {"total": 3, "scored": 3, "hard": 0.25, "soft": 0.5}
PLAIN = {"task_types": {"place": KIND, "year": {**KIND, "scored": 2, "hard": None}}}


def shown(document: dict[str, Any]) -> str:
    return as_markdown(evaluation_blocks(document))


@pytest.mark.parametrize("form", ["arms", "targets"])
def test_which_of_interval_and_p_decides_is_stated_once_where_they_disagree(form: str) -> None:
    documents = {"arms": ARMS, "targets": TARGETS}
    assert shown(documents[form]).count("disagree on a pair, p decides") == 1


@pytest.mark.parametrize(
    ("ends", "both_sides", "one_side", "said"),
    [
        # Five tasks won of five: only the one-sided test rejects.
        ([0.1, 1.0], 0.0625, 0.03125, "such a gain alone: p 0.031, at the 5 % level"),
        ([-0.1, 1.0], 0.0625, 0.03125, "such a gain alone: p 0.031, at the 5 % level"),
        # The verdict's own sentence has what its interval and its test disagree on.
        ([0.1, 1.0], 0.125, 0.0625, ""),
        ([-0.1, 0.5], 0.04, 0.02, ""),
        ([0.1, 0.5], 0.04, 0.02, ""),
        ([-0.1, 0.5], 0.5, 0.25, ""),
    ],
)
def test_what_decides_beside_a_verdict_is_its_one_sided_test(
    ends: list[float], both_sides: float, one_side: float, said: str
) -> None:
    pair = {**PAIR, "interval": ends, "p_value": both_sides, "p_corrected": both_sides}
    sentence = deciding_sentence([pair], {"gain": 0.25, "p_value": one_side})
    assert said in sentence
    assert bool(sentence) is bool(said)
    assert "p decides" not in sentence


def test_what_decides_a_loss_is_the_test_for_a_loss() -> None:
    pair = {**PAIR, "p_corrected": 0.0625}
    assert "such a loss alone" in deciding_sentence([pair], {"gain": -0.25, "p_value": 0.03125})


def test_arms_are_shown_with_their_intervals_pairs_and_lint() -> None:
    text = shown(ARMS)
    assert "## Comparison (test (hard, 2 draws each))" in text
    assert "| best | 0.50 | 0.09 to 0.53 | n=12 | 61 |" in text
    assert "| seed -> best | +0.25 | +0.02 to +0.48 | 4 | 1 | 7 | 0.375 | 0.750 |" in text
    assert "- every arm passes (1 of 12 tasks): t1" in text
    assert "- flaky, marks differ between draws (1 of 12 tasks): t2" in text
    least = {**PAIR, "p_value": 1e-9, "p_corrected": 0.0005}
    agreeing = shown({**ARMS, "pairs": [least, least]}).replace("\\", "")
    assert "| <0.001 | 0.001 |" in agreeing
    # The interval of the pair leaves out 0.
    assert "p decides" in text
    assert "p decides" not in agreeing
    alone = {**ARMS, "pairs": [], "arms": ARMS["arms"][:1]}
    del alone["lint"]
    assert "pair" not in shown(alone)
    assert "Lint" not in shown(alone)


def test_a_p_value_of_all_pairs_is_shown_only_where_there_are_several() -> None:
    only = {**PAIR, "p_corrected": PAIR["p_value"]}
    text = shown({**ARMS, "pairs": [only]})
    assert "| seed -> best | +0.25 | +0.02 to +0.48 | 4 | 1 | 7 | 0.375 |\n" in text
    assert "all pairs" not in text
    assert "The interval and p disagree: p decides" in text
    for several in (ARMS, TARGETS):
        assert "| two-sided p | p (all pairs) |" in shown(several)
    one_pair_each = {**ARMS, "pairs": [PAIR]}
    targets = [{**one_pair_each, "target": name} for name in ("small", "large")]
    assert "| two-sided p | p (all pairs) |" in shown({**TARGETS, "targets": targets})


def test_targets_are_shown_as_a_matrix() -> None:
    text = shown(TARGETS)
    assert "| arm | small | large |" in text
    assert "| best | 0.50 (0.09 to 0.53) | 0.50 (0.09 to 0.53) |" in text
    assert "| large | seed -> best | +0.25 |" in text
    assert text.index("## Lint with small") < text.index("## Lint with large")


def test_the_gate_against_itself_and_kinds_of_task_are_shown() -> None:
    assert "in 12.5% of comparisons on 8 selection tasks; 2 of them got different" in shown(AA)
    assert "every comparison was a tie" not in shown(AA)
    assert "0 of them got different marks in 3 attempts, so every comparison was a tie" in shown({
        **AA,
        "varied": [],
    })
    text = shown(PLAIN)
    assert "| place | 0.25 | 0.50 | n=3 |" in text
    assert "| year | unknown | 0.50 | n=2 of 3 |" in text
    assert shown({"task_types": {"place": KIND}}) == ""


@pytest.mark.parametrize("document", [ARMS, TARGETS, AA, PLAIN], ids=["arms", "targets", "aa", "x"])
def test_a_damaged_result_is_refused(document: dict[str, Any]) -> None:
    for key in document.keys() - {"tied"}:
        for wrong in (None, {"x": {}}, [{}], 7):
            try:
                evaluation_blocks({**document, key: wrong})
            except DataError as error:
                assert error.hint == "evaluate again"
    with pytest.raises(DataError, match="is damaged"):
        evaluation_blocks({"arms": [{}]})


def test_a_training_has_no_result_of_an_evaluation(tmp_path: Path) -> None:
    assert evaluation_of(tmp_path) is None
    write_evaluation(tmp_path, PLAIN)
    assert evaluation_of(tmp_path) == PLAIN
    (tmp_path / "eval_summary.json").write_text("[")
    with pytest.raises(DataError, match="cannot be read"):
        evaluation_of(tmp_path)


def test_pruning_is_shown_block_by_block() -> None:
    tried = (
        BlockTried("item", "- Be attentive.", 15, True, gain=0.0),
        BlockTried("item", "- Give digits.", 14, False, "worse", -0.25, ("t1",), ("t2", "t3")),
    )
    pruned = SkillPruned("a", "b", 0.5, 0.5, 100, 85, tried)
    text = as_markdown(pruned_blocks(pruned))
    assert "## Pruning" in text
    assert "| - Be attentive. | item | 15 | +0.00 | 0 | 0 | removed |" in text
    assert "| - Give digits. | item | 14 | -0.25 | 1 | 2 | kept: worse |" in text
    assert "1 of 2 blocks removed, 100 -> 85 characters, about 3 tokens less" in text
    assert as_markdown(pruned_blocks(None)) == ""


def test_an_evaluation_shows_no_spend_of_an_optimizer() -> None:
    view = fold(stamp([begun(total_steps=0, optimizer="none")]))
    assert spend_by_role(view) == "target 0 calls"
    assert spend_by_role(fold(stamp([begun()]))) == "target 0 calls; optimizer 0 calls"
