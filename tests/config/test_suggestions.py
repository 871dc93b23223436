"""The key that a wrong one is meant to be."""

from __future__ import annotations

import pytest

from skillopt_cli.config.declarations import known_keys
from skillopt_cli.config.suggestions import abbreviates, suggestion


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("optimizer.lr", "optimizer.learning_rate"),
        ("optimizer.LR", "optimizer.learning_rate"),
        ("lr", "optimizer.learning_rate"),
        ("train.lr", "optimizer.learning_rate"),
        ("train.bs", "train.batch_size"),
        ("train.batch", "train.batch_size"),
        ("train.batchsize", "train.batch_size"),
        ("train.epochs", "train.num_epochs"),
        ("epochs", "train.num_epochs"),
        ("optimizer.schedule", "optimizer.lr_scheduler"),
        ("optimizer.max_chars", "optimizer.max_skill_chars"),
        ("env.lim", "env.limit"),
        ("env.batch_size", "train.batch_size"),
        ("optimizer.learning_rat", "optimizer.learning_rate"),
        ("optimiser.prune", "optimizer.prune"),
        ("train_batch_size", "train.batch_size"),
    ],
)
def test_a_short_or_misspelt_key_gets_the_one_that_is_meant(wrong: str, meant: str) -> None:
    assert suggestion(wrong, known_keys()) == f"did you mean `{meant}`?"


@pytest.mark.parametrize("wrong", ["optimizer.budget", "optimizer.xy", "train.q", "nothing.such"])
def test_a_long_section_alone_makes_no_two_keys_alike(wrong: str) -> None:
    assert suggestion(wrong, known_keys(), "none") == "none"


@pytest.mark.parametrize(
    ("short", "name", "whether"),
    [
        ("lr", "learning_rate", True),
        ("lr", "lr_scheduler", True),
        ("num_ep", "num_epochs", True),
        ("size_batch", "batch_size", False),
        ("p", "prune_all", True),
        ("atch", "batch_size", False),
        ("", "batch_size", False),
        ("lrs", "learning_rate", False),
    ],
)
def test_initials_and_the_beginnings_of_words_abbreviate(
    short: str, name: str, whether: bool
) -> None:
    assert abbreviates(short, name) is whether
