"""Floor 2: one async function per file; values in, a value out."""

from skillopt_cli.stages.aggregate import aggregate
from skillopt_cli.stages.analyst import reflect_with_model
from skillopt_cli.stages.close_epoch import close_epoch
from skillopt_cli.stages.hindsight import guide_with_model, remember_with_model
from skillopt_cli.stages.learning_rate import learning_rate, rate_with_model
from skillopt_cli.stages.measure import measure, measure_against, measure_test
from skillopt_cli.stages.merge import merge_with_model
from skillopt_cli.stages.modes import update_with_model
from skillopt_cli.stages.rank import rank_with_model
from skillopt_cli.stages.reflect import reflect
from skillopt_cli.stages.rollout import rollout
from skillopt_cli.stages.run import Run, Variants
from skillopt_cli.stages.select import select
from skillopt_cli.stages.update import update

WITH_MODEL = Variants(
    reflect=reflect_with_model,
    aggregate=merge_with_model,
    rate=rate_with_model,
    select=rank_with_model,
    update=update_with_model,
    guide=guide_with_model,
    remember=remember_with_model,
)

__all__ = [
    "WITH_MODEL",
    "Run",
    "Variants",
    "aggregate",
    "close_epoch",
    "learning_rate",
    "measure",
    "measure_against",
    "measure_test",
    "reflect",
    "rollout",
    "select",
    "update",
]
