"""The optimizer `rules`: an analyst without a model, and a baseline for those with one."""

from skillopt_cli.optimizers.rules.epoch_reflection import guide_by_rules, remember_by_rules
from skillopt_cli.optimizers.rules.stages import (
    merge_by_rules,
    rate_by_support,
    reflect_by_rules,
    select_by_support,
)
from skillopt_cli.optimizers.rules.suitability import why_unsuited
from skillopt_cli.ports import BackendSpec
from skillopt_cli.stages.rewrite import apply_chosen
from skillopt_cli.stages.run import Variants

STAGES = Variants(
    reflect=reflect_by_rules,
    aggregate=merge_by_rules,
    rate=rate_by_support,
    select=select_by_support,
    update=apply_chosen,
    guide=guide_by_rules,
    remember=remember_by_rules,
    quotes=True,
    text_alone=True,
    unsuited=why_unsuited,
)

SPEC = BackendSpec(
    name="rules",
    summary="counts what failing answers have in common and writes rules and examples; no model",
    roles=frozenset({"optimizer"}),
    stages=STAGES,
    free=True,
    requires="nothing",
)

__all__ = ["SPEC", "STAGES"]
