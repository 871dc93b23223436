"""The schedule of a run, the rule of its gate, and its limits, from its configuration."""

from __future__ import annotations

from dataclasses import replace

from skillopt_cli.config import RunConfig
from skillopt_cli.config.section import SettingsSection
from skillopt_cli.core.caps import CAPS, Cap
from skillopt_cli.core.events import Limits
from skillopt_cli.core.gate import GateRule
from skillopt_cli.core.plan import LearningRate, TrainPlan
from skillopt_cli.core.score import Metric
from skillopt_cli.ports import Benchmark
from skillopt_cli.stages import WITH_MODEL, Variants
from skillopt_cli.stages.merge import merge_in_code


def train_plan(config: RunConfig, benchmark: Benchmark) -> TrainPlan:
    """The schedule: of at most `train_size` tasks, or of the whole train split."""
    train, optimizer = config.train, config.optimizer
    held = len(benchmark.tasks("train"))
    size = min(train.train_size or held, held)
    rate = LearningRate(
        high=optimizer.learning_rate,
        low=optimizer.floor,
        scheduler=optimizer.lr_scheduler,
        capped=optimizer.rate_control != "none",
        from_start=optimizer.lr_schedule_from_start,
    )
    return TrainPlan(train.num_epochs, size, train.batch_size, train.accumulation, train.seed, rate)


def stage_variants(config: RunConfig, variants: Variants) -> Variants:
    """The stages of an optimizer, those with a model under the settings that choose among them."""
    if variants is WITH_MODEL and config.optimizer.merge == "code":
        return replace(variants, aggregate=merge_in_code)
    return variants


def gate_rule(config: RunConfig) -> GateRule:
    """How candidates are judged."""
    evaluation = config.evaluation
    return GateRule(
        Metric(evaluation.gate_metric, evaluation.gate_mixed_weight),
        evaluation.min_coverage,
        evaluation.use_gate,
        evaluation.gate_policy,
    )


def caps_of(section: SettingsSection) -> tuple[Cap, ...]:
    """The caps that are set in a group of settings, `run` or the caps of a sweep."""
    limits = {name: getattr(section, name) for name in CAPS}
    return tuple(Cap(name, limit) for name, limit in limits.items() if limit is not None)


def run_limits(config: RunConfig, *, training: bool) -> Limits:
    """Return the limits that a run begins with; analysts work in a training alone."""
    section = config.run
    return Limits(
        workers=section.workers,
        analyst_workers=config.gradient.analyst_workers if training else 0,
        max_concurrency=section.max_concurrency,
        caps=tuple((cap.name, cap.limit) for cap in caps_of(section)),
    )
