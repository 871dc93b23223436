"""The other documented sections of a configuration. A knob is declared in one place only."""

from __future__ import annotations

import re
import shlex
from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from skillopt_cli.config.scalars import read_value
from skillopt_cli.config.section import Section
from skillopt_cli.config.wording import clash
from skillopt_cli.core.edits import UpdateMode
from skillopt_cli.core.pairs import PairPolicy
from skillopt_cli.core.plan import RateControl, Scheduler
from skillopt_cli.core.score import MetricName

_RATIO = re.compile(r"[1-9][0-9]*(?::[1-9][0-9]*){2}\Z")


class TrainConfig(Section):
    """The schedule of the run."""

    num_epochs: int = Field(4, ge=1)
    """Passes over the train split."""
    train_size: int = Field(0, ge=0)
    """Tasks to train on; 0 takes the whole split, a larger number than it holds is refused."""
    batch_size: int = Field(40, ge=1)
    """Tasks per rollout batch."""
    accumulation: int = Field(1, ge=1)
    """Batches per step."""
    seed: int = 42
    """Seed of shuffles and samples."""


class GradientConfig(Section):
    """How trajectories become edits."""

    minibatch_size: int = Field(8, ge=1)
    """Trajectories per analyst call."""
    merge_batch_size: int = Field(8, ge=2)
    """Patches per merge call."""
    analyst_workers: int = Field(16, ge=1)
    """Optimizer calls in flight."""
    failure_only: bool = False
    """Learn from failures only."""


class OptimizerConfig(Section):
    """How edits change the skill."""

    learning_rate: int = Field(4, ge=1)
    """Most edits a step may apply."""
    min_learning_rate: int | None = Field(None, ge=1)
    """Floor of a decaying schedule; min(2, learning_rate) when unset."""
    lr_scheduler: Scheduler = "cosine"
    """How the learning rate changes over the run: constant, linear or cosine."""
    lr_schedule_from_start: bool = False
    """Put the first step at the start of the schedule instead of one interval into it."""
    lr_control_mode: RateControl = "fixed"
    """fixed follows the schedule; autonomous asks the optimizer in each step; none applies all."""
    use_slow_update: bool = True
    """At each epoch's end compare its skill with the last one's and write guidance."""
    slow_update_samples: int = Field(20, ge=1)
    """Train tasks compared."""
    slow_update_gate_with_selection: bool = False
    """Let the gate decide on the guidance; false injects it, measured all the same."""
    longitudinal_pair_policy: PairPolicy = "mixed"
    """Which pairs the optimizer sees: mixed, changed or unchanged."""
    use_meta_skill: bool = True
    """At each epoch's end let the optimizer write notes for its own later use."""
    use_skill_aware_reflection: bool = False
    """Tell failures of the skill from lapses of the target, which become notes in its appendix."""
    skill_aware_appendix_source: Literal["both", "failure_only"] = "both"
    """Which analysts may give notes: those of failures and successes, or of failures only."""
    skill_aware_consolidate_threshold: int = Field(0, ge=0)
    """Let the optimizer shorten an appendix of more notes than this; 0 never does."""
    skill_update_mode: UpdateMode = "patch"
    """patch edits; rewrite_from_suggestions and full_rewrite_minibatch write the text anew."""
    max_skill_chars: int = Field(0, ge=0)
    """Refuse a candidate of a step that grows beyond this, unmeasured; 0 never. SKILL.md counts."""
    prompts_dir: str = ""
    """Folder of NAME.md files, each in the place of the optimizer's prompt of that name."""

    @property
    def rate_control(self) -> RateControl:
        """Who sets the learning rate; nobody where whole texts are proposed."""
        whole = self.skill_update_mode == "full_rewrite_minibatch"
        return "none" if whole else self.lr_control_mode

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


class EvaluationConfig(Section):
    """How candidates are measured and accepted."""

    use_gate: bool = True
    """Accept only what scores strictly better; false measures and accepts everything."""
    gate_metric: MetricName = "hard"
    """The score the gate compares: hard, soft or mixed."""
    gate_mixed_weight: float = Field(0.5, ge=0, le=1)
    """Weight of the soft score in mixed."""
    early_reject: bool = True
    """Stop measuring a candidate once it can no longer win; the verdict is never affected."""
    min_coverage: float = Field(0.9, ge=0, le=1)
    """Share of tasks that must have a score before a gate decides."""
    patience: int = Field(0, ge=0)
    """Stop after this many steps without an accepted candidate; 0 never does."""
    sel_env_num: int = Field(0, ge=0)
    """Selection tasks to use; 0 takes all."""
    test_env_num: int = Field(0, ge=0)
    """Test tasks to use; 0 takes all."""
    judge_twice: float = Field(0.1, ge=0, le=1)
    """Share of judged answers that are judged a second time, to tell how far a judge is steady."""
    eval_test: bool = True
    """Measure seed, best and final skill on the test split at the end."""
    eval_no_skill: bool = False
    """Measure an empty skill on the test split as well."""


class EnvConfig(Section):
    """The benchmark and its data. Further keys belong to the benchmark, which checks them."""

    model_config = ConfigDict(
        frozen=True, extra="allow", hide_input_in_errors=True, use_attribute_docstrings=True
    )

    name: str = ""
    """The benchmark, see `skillopt benchmarks list`."""
    skill_init: str = ""
    """Seed skill file, or folder with a SKILL.md; empty takes the benchmark's own sentence."""
    editable: tuple[str, ...] | None = None
    """Files of a skill folder that may be changed: paths or globs in it, as a list or with spaces
    between them. Unset it is SKILL.md alone."""
    from_scratch: bool = False
    """Start from an empty skill."""
    split_mode: Literal["split_dir", "ratio"] | None = None
    """Read three folders (split_dir) or cut one task file (ratio); unset takes what is given."""
    split_dir: str = ""
    """Folder that holds train/, selection/ (or val/) and test/."""
    data_path: str = ""
    """One task file to be cut into splits by split_ratio."""
    split_ratio: str = "2:1:7"
    """Train : selection : test."""
    split_seed: int = 42
    """Seed of the ratio split; membership depends on it and the task ids only."""
    data_root: str = "data"
    """Where `skillopt data prepare` puts data."""
    out_root: str = "outputs"
    """Where run folders are made."""
    limit: int = Field(0, ge=0)
    """Keep the first N tasks of each split; 0 keeps all."""

    @model_validator(mode="after")
    def _one_source(self) -> EnvConfig:
        if self.split_mode == "ratio" and not self.data_path:
            raise clash(
                "`split_mode` is `ratio`, but `env.data_path` is not set",
                ("split_mode",),
                "name the task file with `env.data_path=FILE`",
            )
        if self.split_mode == "split_dir" and not self.split_dir:
            raise clash(
                "`split_mode` is `split_dir`, but `env.split_dir` is not set",
                ("split_mode",),
                "name the folder with `env.split_dir=FOLDER`",
            )
        if self.split_mode is None and self.split_dir and self.data_path:
            raise clash(
                "`data_path` and `split_dir` are both set",
                ("data_path", "split_dir"),
                "say which counts: `env.split_mode=ratio` cuts the file,"
                " `env.split_mode=split_dir` reads the folder",
            )
        return self

    @field_validator("editable", mode="before")
    @classmethod
    def _read_words(cls, value: Any) -> Any:
        found = tuple(shlex.split(value)) if isinstance(value, str) else value
        if found is not None and not found:
            raise ValueError("must name a file, such as SKILL.md")
        return found

    @property
    def tasks_from(self) -> tuple[str, str]:
        """The split folder and the task file in use; at most one of them is not empty."""
        if self.split_mode == "ratio":
            return "", self.data_path
        return self.split_dir, "" if self.split_dir else self.data_path

    @field_validator("split_ratio")
    @classmethod
    def _three_weights(cls, value: str) -> str:
        if not _RATIO.match(value):
            raise ValueError("wanted are three positive whole numbers, such as 2:1:7")
        return value

    @property
    def options(self) -> dict[str, Any]:
        """The benchmark's own keys."""
        return dict(self.model_extra or {})


class RunSection(Section):
    """Display and machine limits: nothing here can alter a text or a score."""

    workers: int = Field(8, ge=1)
    """Attempts in flight."""
    max_concurrency: int = Field(64, ge=1)
    """Calls in flight per provider, over both roles."""
    display: Literal["auto", "rich", "plain", "none"] = "auto"
    """Live panel on a terminal and plain lines in a pipe (auto), or one of them always."""
    cache_dir: str = ""
    """Folder of a journal shared by several runs; empty keeps it in the run folder."""
    require_improvement: bool = False
    """Exit with 10 when the best skill does not score above the seed on the selection split."""
    executor: Literal["auto", "namespace", "local"] = "auto"
    """Isolate an agent's programs by bubblewrap where it works (auto), or else refuse (namespace);
    local never does."""
    readable: str = ""
    """Files and folders an isolated program may read beyond the system's and its own: absolute
    paths with `:` between them."""
    workspace_mb: int = Field(1000, ge=1)
    """Most megabytes the folders of one attempt may hold."""
    max_usd: float | None = Field(None, gt=0)
    """Most US dollars for calls of the run, all its processes together; unset never stops."""
    max_calls: int | None = Field(None, ge=1)
    """Most answered model calls."""
    max_tokens: int | None = Field(None, ge=1)
    """Most tokens read and written."""
    max_rollouts: int | None = Field(None, ge=1)
    """Most attempts at tasks; those recalled from the journal cost nothing."""
    max_minutes: float | None = Field(None, gt=0)
    """Most minutes of work, those before a resume included."""

    trackers: tuple[str, ...] = ()
    """Where the numbers of the run are sent as well: mlflow, wandb, tensorboard, otel; as a list or
    with spaces between them."""

    @field_validator("trackers", mode="before")
    @classmethod
    def _read_words(cls, value: Any) -> Any:
        read = read_value(value) if isinstance(value, str) else value
        words = read.split() if isinstance(read, str) else read
        # Named twice, in a file and by a flag, is named.
        if not isinstance(words, list | tuple):
            return words
        return tuple(word for place, word in enumerate(words) if word not in words[:place])

    @field_validator("readable")
    @classmethod
    def _paths_that_stay(cls, value: str) -> str:
        if any(path and not path.startswith(("/", "~/")) for path in value.split(":")):
            raise ValueError("wanted are absolute paths with `:` between them")
        return value
