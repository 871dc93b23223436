"""`Run`: the bundle every stage receives, and `announced`, which tells of start and end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from skillopt_cli.config import RunConfig
from skillopt_cli.core.edits import Candidate, Patch
from skillopt_cli.core.events import CheckpointSaved, Means, StageFinished, StageName, StageStarted
from skillopt_cli.core.gate import GateRule
from skillopt_cli.core.pairs import Pair
from skillopt_cli.core.plan import StepPlan, TrainPlan
from skillopt_cli.core.score import Measured, Metric, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson, Reflection, TrainState
from skillopt_cli.core.task import Split, Task
from skillopt_cli.ports import (
    AgentBackend,
    Benchmark,
    ChatBackend,
    Control,
    Emit,
    Executor,
    Store,
    Unsteered,
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """An epoch looked back on: what the skill was, what it became, and what that did to tasks.

    Attributes:
        before, after: the skill as the last epoch left it, and as this one did.
        pairs: tasks attempted under both, those that the pair policy wants shown.
        lessons: what the epoch's steps taught.
    """

    epoch: int
    before: SkillDocument
    after: SkillDocument
    pairs: tuple[Pair, ...]
    lessons: tuple[Lesson, ...]


@dataclass(frozen=True, slots=True)
class RateWish:
    """How many edits an optimizer wants applied.

    Attributes:
        edits: at least 0; more than there are means all of them.
        confidence: in [0, 1].
    """

    edits: int
    reasoning: str = ""
    confidence: float | None = None
    risk_notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Variants:
    """The chosen implementation of each stage that has more than one.

    `reflect(run, skill, trajectories, lessons)`, `aggregate(run, skill, patches)`,
    `rate(run, skill, merged, lessons)`, how many edits to apply, None when that cannot be told;
    `select(run, skill, merged, budget)`, where `budget` None keeps every edit;
    `update(run, skill, chosen)`; at an epoch's end `guide(run, comparison)` and
    `remember(run, comparison)`, which give a text, or None when there is no usable one.
    """

    reflect: Callable[
        [Run, SkillDocument, Sequence[Trajectory], Sequence[Lesson]], Awaitable[Reflection]
    ]
    aggregate: Callable[[Run, SkillDocument, Sequence[Patch]], Awaitable[Patch]]
    rate: Callable[[Run, SkillDocument, Patch, Sequence[Lesson]], Awaitable[RateWish | None]]
    select: Callable[[Run, SkillDocument, Patch, int | None], Awaitable[Patch]]
    update: Callable[[Run, SkillDocument, Patch], Awaitable[Candidate]]
    guide: Callable[[Run, Comparison], Awaitable[str | None]]
    remember: Callable[[Run, Comparison], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class Run:
    """A run's collaborators and settings; nothing process-wide.

    Attributes:
        splits: the tasks in use, after `train_size`, `sel_env_num` and `test_env_num`.
        optimizer: None when the stage variants need no model.
        judge: None when the benchmark needs none.
        prompts: texts by name, overrides of the benchmark and of the user applied.
        step: the step being worked on, None outside steps (baseline, tests).
        folder: where copies for people go, relative to the run folder.
        memory: the optimizer's notes from earlier epochs, for its own calls.
        control: who is asked where a person may have a say.
        hints: those of a person for the reflection under way.
    """

    config: RunConfig
    plan: TrainPlan
    benchmark: Benchmark
    splits: dict[Split, tuple[Task, ...]]
    target: AgentBackend
    optimizer: ChatBackend | None
    executor: Executor
    store: Store
    emit: Emit
    variants: Variants
    rule: GateRule
    judge: ChatBackend | None = None
    prompts: dict[str, str] = field(default_factory=dict)
    step: StepPlan | None = None
    folder: str = ""
    memory: str = ""
    control: Control = field(default_factory=Unsteered)
    hints: tuple[str, ...] = ()

    @property
    def metric(self) -> Metric:
        """The score the gate compares."""
        return self.rule.metric

    @property
    def number(self) -> int:
        """The step's number, 0 outside steps."""
        return self.step.number if self.step else 0

    @property
    def most_edits(self) -> int | None:
        """Edits an analyst may propose: the schedule's number, None where that does not decide."""
        scheduled = self.config.optimizer.rate_control == "fixed"
        return self.step.edit_budget if self.step and scheduled else None

    def at(self, step: StepPlan, memory: str = "") -> Run:
        """This run, working on `step` with the notes of earlier epochs."""
        return replace(self, step=step, folder=f"{step.folder}/", memory=memory)

    def closing(self, step: StepPlan, memory: str) -> Run:
        """This run, at the end of the epoch that `step` closes."""
        return replace(self, step=step, folder="", memory=memory)

    def batch(self, step: StepPlan) -> tuple[Task, ...]:
        """The step's train tasks."""
        return self.plan.batch(self.splits["train"], step)

    def keep(self, path: str, text: str) -> None:
        """A copy for people, in the step's folder, or in the run folder outside steps."""
        self.store.keep(f"{self.folder}{path}", text)

    def keep_skill(self, name: str, skill: SkillDocument) -> None:
        """A copy of a skill as NAME.md; of a folder also as the folder NAME."""
        self._lay_down(f"{self.folder}{name}", skill)

    def _lay_down(self, path: str, skill: SkillDocument) -> None:
        self.store.keep(f"{path}.md", skill.text)
        if skill.folder is not None:
            self.store.keep_folder(path, skill)

    def checkpoint(self, state: TrainState) -> None:
        """Save the state for good, then say so."""
        skill = state.current.skill
        self._lay_down(f"skills/step_{state.done:04d}", skill)
        self._lay_down("best_skill", state.best.skill)
        self.store.save_state(state)
        self.emit(self.recorded(state))

    def recorded(self, state: TrainState) -> CheckpointSaved:
        """Where a run stands by a checkpoint."""
        return CheckpointSaved(
            done=state.done,
            current_score=state.current.mean(self.metric),
            best_score=state.best.mean(self.metric),
            current_step=state.current_step,
            best_step=state.best_step,
            chars=len(state.current.skill.text),
            current=_means(state.current),
            best=_means(state.best),
        )


def _means(measured: Measured) -> Means:
    digest = measured.skill.digest
    return Means(digest, measured.hard, measured.soft, measured.scored, measured.n)


@contextmanager
def announced(run: Run, stage: StageName, units: int, label: str = "") -> Iterator[None]:
    """Announce a stage's start and end, in this one place. A stage that fails has no end.

    Args:
        units: pieces of work the stage consists of, for progress and ETA.
        label: which arm of a comparison.
    """
    attempting = stage in ("rollout", "measure", "slow_update", "test")
    workers = run.config.run.workers if attempting else run.config.gradient.analyst_workers
    run.emit(StageStarted(run.number, stage, units, workers, label))
    yield
    run.emit(StageFinished(run.number, stage, label))
