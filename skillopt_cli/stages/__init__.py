"""Floor 2: one async function per file; values in, a value out."""

from skillopt_cli.stages.aggregate import aggregate
from skillopt_cli.stages.analyst import read_early, reflect_with_model
from skillopt_cli.stages.answer import answer
from skillopt_cli.stages.check import check
from skillopt_cli.stages.close_epoch import close_epoch
from skillopt_cli.stages.epoch_reflection import guide_with_model, remember_with_model
from skillopt_cli.stages.learning_rate import learning_rate, rate_with_model
from skillopt_cli.stages.measure import (
    begin_tests,
    measure,
    measure_against,
    measure_seed,
    measure_test,
    remeasure,
)
from skillopt_cli.stages.merge import merge_with_model
from skillopt_cli.stages.modes import update_with_model
from skillopt_cli.stages.paired import measure_paired
from skillopt_cli.stages.prune import prune
from skillopt_cli.stages.rank import rank_with_model
from skillopt_cli.stages.reflect import early_reader, reflect
from skillopt_cli.stages.rollout import rollout
from skillopt_cli.stages.run import Run, Variants
from skillopt_cli.stages.select import select
from skillopt_cli.stages.trajectory_digest import keep_digest
from skillopt_cli.stages.update import update
from skillopt_cli.stages.verify import verify

WITH_MODEL = Variants(
    reflect=reflect_with_model,
    aggregate=merge_with_model,
    rate=rate_with_model,
    select=rank_with_model,
    update=update_with_model,
    guide=guide_with_model,
    remember=remember_with_model,
    read_early=read_early,
)

__all__ = [
    "WITH_MODEL",
    "Run",
    "Variants",
    "aggregate",
    "answer",
    "begin_tests",
    "check",
    "close_epoch",
    "early_reader",
    "keep_digest",
    "learning_rate",
    "measure",
    "measure_against",
    "measure_paired",
    "measure_seed",
    "measure_test",
    "prune",
    "reflect",
    "remeasure",
    "rollout",
    "select",
    "update",
    "verify",
]
