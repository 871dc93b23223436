"""Epochs that forget: the optimizer deletes rules that the selection split does not ask for."""

from __future__ import annotations

from functools import partial

from worlds import Reading, Setting, World

SIZES = {"train": 32, "selection": 16, "test": 96}
STATED = 10
ONE_STEP_EPOCHS = (
    "train.num_epochs=6",
    "train.batch_size=32",
    "gradient.minibatch_size=8",
    "gradient.failure_only=true",
    "optimizer.learning_rate=6",
    "optimizer.lr_scheduler=constant",
    "optimizer.slow_update_samples=32",
    "optimizer.longitudinal_pair_policy=changed",
)
"""The guidance sees only what changed, so that it can teach nothing but what was lost."""
FORGETFUL = (*ONE_STEP_EPOCHS, "model.simulated.forget_rate=0.8")

narrow = partial(Reading, SIZES, rules=STATED, watched=range(STATED, 24))
wide = partial(Reading, SIZES, rules=STATED)

WORLD = World(
    "forgetting",
    "slow update",
    off=(),
    on=("optimizer.use_slow_update=true",),
    settings=(
        Setting("rules are forgotten unseen", FORGETFUL, narrow),
        Setting("the selection split asks for every family", FORGETFUL, wide),
        Setting(
            "guidance that ties is rejected",
            (*FORGETFUL, "optimizer.slow_update_accept_ties=false"),
            narrow,
        ),
        Setting(
            "nothing is forgotten, every lesson is right",
            (*ONE_STEP_EPOCHS, "model.simulated.right_rate=1", "model.simulated.harmful_rate=0"),
            narrow,
        ),
    ),
)
