"""The documented sections of a configuration besides `model`.

A field whose `Setting` has an `order` has a flag, at that place of the help pages; see `Setting`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from skillopt_cli.config.section import LocalPath, Setting, SettingsSection
from skillopt_cli.config.validation_messages import clash
from skillopt_cli.core.edits import UpdateMode
from skillopt_cli.core.epoch_pairs import PairPolicy
from skillopt_cli.core.gate import GatePolicy
from skillopt_cli.core.plan import RateControl, Scheduler
from skillopt_cli.core.score import MetricName


class TrainConfig(SettingsSection):
    """The schedule of the run."""

    num_epochs: Annotated[int, Setting(order=5, flag="--epochs")] = Field(4, ge=1)
    """Passes over the train split."""
    train_size: int = Field(0, ge=0)
    """Most tasks to train on, the first of the split; 0 takes the whole split."""
    batch_size: Annotated[int, Setting(order=6)] = Field(40, ge=1)
    """Tasks per rollout batch."""
    accumulation: int = Field(1, ge=1)
    """Batches per step."""
    seed: Annotated[
        int,
        Setting(
            order=9,
            instead_of_sweep="list them under `seeds`: runs that differ in nothing else are counted"
            " together",
        ),
    ] = 42
    """Random seed for shuffling and sampling."""


class GradientConfig(SettingsSection):
    """How trajectories become edits."""

    minibatch_size: int = Field(8, ge=1)
    """Trajectories per analyst call."""
    merge_batch_size: int = Field(8, ge=2)
    """Patches per merge call."""
    analyst_workers: Annotated[int, Setting(free_on_resume=True)] = Field(16, ge=1)
    """Concurrent optimizer calls."""
    failure_only: bool = False
    """Learn from failures only."""


class OptimizerConfig(SettingsSection):
    """How edits change the skill."""

    learning_rate: Annotated[int, Setting(order=7, brief="Maximum edits per step.")] = Field(
        4, ge=1
    )
    """Maximum number of edits that a step applies."""
    min_learning_rate: int | None = Field(None, ge=1)
    """Lowest learning rate of a decaying schedule; min(2, learning_rate) when unset."""
    lr_scheduler: Annotated[Scheduler, Setting(order=8, brief="How the learning rate changes.")] = (
        "cosine"
    )
    """How the learning rate changes over the run: constant, linear or cosine."""
    lr_schedule_from_start: bool = False
    """Put the first step at the start of the schedule instead of one interval into it."""
    merge: Literal["model", "code"] = "model"
    """Let the optimizer merge the patches (model), or unite equal edits without a call (code)."""
    failures_first: bool = True
    """Rank edits that failures call for before edits that successes call for."""
    append_unmatched: bool = True
    """Put an insertion whose target does not occur at the end of the text; false leaves it out."""
    verify: Literal["off", "edits", "joint"] = "off"
    """Try each edit alone (edits), or all together (joint), on the failed tasks they are written
    for, and keep those that solve enough of them; off keeps every chosen edit."""
    verify_tasks: int = Field(3, ge=1)
    """Maximum number of tasks that an edit is tried on alone."""
    verify_share: float = Field(0.5, gt=0, le=1)
    """Share of the tasks it is tried on that an edit must solve, at least one."""
    reflect_rounds: int = Field(1, ge=1)
    """Rounds of analysis in a step; each later one reads what still fails with the edits so far."""
    check_passing: bool = False
    """Try the kept edits on the step's solved tasks, and leave out those that break any."""
    rejected_memory: Literal["step", "edit"] = "step"
    """What analysts read of failed proposals: the edits of rejected steps of the epoch (step), or
    every edit of the run that did not solve its tasks (edit)."""
    rerun_solved: float = Field(1.0, ge=0, le=1)
    """Share of the tasks solved when last attempted that a step attempts again."""
    lr_control_mode: RateControl = "fixed"
    """fixed follows the schedule; autonomous asks the optimizer in each step; none applies all."""
    use_slow_update: bool = True
    """At each epoch's end compare its skill with the last one's and write guidance."""
    slow_update_samples: int = Field(20, ge=1)
    """Train tasks compared."""
    slow_update_gate_with_selection: bool = True
    """Let the gate decide on the guidance, as in the published runs; false injects it, measured."""
    slow_update_accept_ties: bool = True
    """Let the gate accept guidance that measures no worse; false asks for strictly better."""
    longitudinal_pair_policy: PairPolicy = "mixed"
    """Which pairs the optimizer sees: mixed, changed or unchanged."""
    use_meta_skill: bool = True
    """At each epoch's end let the optimizer write notes for its own later use."""
    use_skill_aware_reflection: bool = False
    """Separate failures of the skill from lapses of the target, which become appendix notes."""
    skill_aware_appendix_source: Literal["both", "failure_only"] = "both"
    """Which analysts may give notes: those of failures and successes, or of failures only."""
    skill_aware_consolidate_threshold: int = Field(0, ge=0)
    """Let the optimizer shorten an appendix of more notes than this; 0 never does."""
    skill_update_mode: UpdateMode = "patch"
    """patch edits; rewrite_from_suggestions and full_rewrite_minibatch rewrite the whole text."""
    max_skill_chars: int = Field(0, ge=0)
    """Refuse a candidate of a step that grows beyond this, unmeasured; 0 never. SKILL.md counts."""
    worked_examples: Annotated[bool | None, Setting(left_out_unset=True)] = None
    """Let marked worked examples of train tasks into the skill; unset, only those of `rules`."""
    prune: bool = False
    """At the end remove the blocks of the best skill whose removal is not measured as worse."""
    prompts_dir: Annotated[LocalPath, Setting(path=True, free_on_resume=True)] = ""
    """Folder of NAME.md files, each in the place of the optimizer's prompt of that name."""

    @field_validator("verify", mode="before")
    @classmethod
    def _read_off(cls, value: Any) -> Any:
        # YAML reads `off` as false.
        return "off" if value is False else value

    @property
    def rate_control(self) -> RateControl:
        """Who sets the learning rate; nobody where whole texts are proposed."""
        whole = self.skill_update_mode == "full_rewrite_minibatch"
        return "none" if whole else self.lr_control_mode

    @property
    def rounds(self) -> int:
        """Rounds of analysis in a step; one where whole texts are proposed."""
        return 1 if self.skill_update_mode == "full_rewrite_minibatch" else self.reflect_rounds

    @property
    def floor(self) -> int:
        """The effective minimum learning rate."""
        unset = self.min_learning_rate is None
        return min(2, self.learning_rate) if unset else self.min_learning_rate or 1

    @model_validator(mode="after")
    def _floor_below_rate(self) -> OptimizerConfig:
        if self.floor > self.learning_rate:
            raise clash(
                f"`min_learning_rate` of {self.floor} is above `learning_rate` of"
                f" {self.learning_rate}",
                ("min_learning_rate", "learning_rate"),
                f"for example `optimizer.min_learning_rate={self.learning_rate}`,"
                f" or `optimizer.learning_rate={self.floor}`",
            )
        return self


class EvaluationConfig(SettingsSection):
    """How candidates are measured and accepted."""

    use_gate: bool = True
    """Accept only what the gate policy accepts; false measures and accepts everything."""
    gate_policy: GatePolicy = "strict"
    """What the gate accepts: strict and pooled a higher mean, pooled against a current skill that
    is measured again in each step; not_worse an equal mean as well; no_regression a higher mean
    without a lost task; paired only a gain that chance explains in fewer than 10 % of cases."""
    gate_metric: MetricName = "hard"
    """The score the gate compares: hard, soft or mixed."""
    gate_mixed_weight: float = Field(0.5, ge=0, le=1)
    """Weight of the soft score in mixed."""
    early_reject: bool = True
    """Stop measuring a candidate once it can no longer win; the verdict is never affected."""
    min_coverage: float = Field(0.9, ge=0, le=1)
    """Share of tasks that must have a score before a gate decides."""
    patience: Annotated[
        int, Setting(order=10, brief="Stop after N steps without an accepted candidate.")
    ] = Field(0, ge=0)
    """Stop after this many steps without an accepted candidate; 0 never does."""
    sel_env_num: int = Field(0, ge=0)
    """Selection tasks to use; 0 takes all."""
    test_env_num: int = Field(0, ge=0)
    """Test tasks to use; 0 takes all."""
    confirm_fraction: float = Field(0.0, ge=0, lt=1)
    """Share of the selection tasks that no step uses, kept for the verdict; 0 takes the test."""
    judge_twice: float = Field(0.1, ge=0, le=1)
    """Share of judged answers that are judged twice, which shows how consistent the judge is."""
    eval_test: bool = True
    """Measure seed, best and final skill on the test split at the end."""
    eval_no_skill: bool = False
    """Measure an empty skill on the test split as well."""
