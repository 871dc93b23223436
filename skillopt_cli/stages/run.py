"""`Run`: the bundle every stage receives, and `announced`, which emits a stage's start and end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from skillopt_cli.config import RunConfig
from skillopt_cli.core.caps import CAPS
from skillopt_cli.core.edits import Candidate, Patch, Trial
from skillopt_cli.core.epoch_pairs import Pair
from skillopt_cli.core.events import (
    ATTEMPTING,
    CheckpointSaved,
    Means,
    StageFinished,
    StageName,
    StageStarted,
)
from skillopt_cli.core.gate import GateRule
from skillopt_cli.core.labels import Labels
from skillopt_cli.core.minibatches import Minibatch
from skillopt_cli.core.plan import StepPlan, TrainPlan
from skillopt_cli.core.score import Measured, Metric, Trajectory
from skillopt_cli.core.secrets import Hide
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson, Reflection, TrainState, stop_reason
from skillopt_cli.core.task import SPLITS, Split, Task, TaskSet
from skillopt_cli.core.verification import left_out
from skillopt_cli.ports import (
    AgentBackend,
    AttemptRunner,
    Benchmark,
    ChatBackend,
    Control,
    Emit,
    Executor,
    Interactive,
    Judged,
    Referenced,
    Store,
    Unsteered,
)
from skillopt_cli.stages.episodes import LocalRunner
from skillopt_cli.stages.overlap import Early, Overlap

T = TypeVar("T")


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
    `rate(run, skill, merged, lessons)`, how many edits to apply, None when that is unknown;
    `select(run, skill, merged, budget)`, where `budget` None keeps every edit;
    `update(run, skill, chosen)`; at an epoch's end `guide(run, comparison)` and
    `remember(run, comparison)`, which give a text, or None when there is no usable one.
    `quotes` is true where reflect writes marked worked examples, unless a setting forbids it.
    `text_alone` is true where edits are of SKILL.md only, whatever else may be edited.
    `read_early(run, skill, minibatch, lessons)` begins what `reflect` will do with a minibatch that
    the first trajectories of a batch fill.
    `unsuited(benchmark, tasks)` is why the stages cannot learn from train tasks, "" if they may.
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
    quotes: bool = False
    text_alone: bool = False
    read_early: Callable[[Run, SkillDocument, Minibatch, Sequence[Lesson]], None] | None = None
    unsuited: Callable[[Benchmark, Sequence[Task]], str] | None = None


@dataclass(frozen=True)
class Run:
    """A run's collaborators and settings; nothing process-wide.

    Attributes:
        splits: the tasks in use, after `train_size`, `sel_env_num` and `test_env_num`.
        confirmation: selection tasks set aside for the verdict, in none of the splits.
        optimizer: None when the stage variants need no model.
        judge: None when the benchmark needs none.
        hide: returns a text without any secret in it; attempts and scores pass it.
        prompts: texts by name, overrides of the benchmark and of the user applied.
        unanswered: journal keys of calls to the optimizer without a usable answer, and the step of
            each, as far as this process made or recalled them; `ask` adds to them.
        labels: those of the train split, once they were looked for; `train_labels` adds them.
        step: the step being worked on, None outside steps (baseline, tests).
        folder: where copies for people go, relative to the run folder.
        memory: the optimizer's notes from earlier epochs, for its own calls.
        control: is asked where a person may intervene.
        hints: those of a person for the reflection under way.
        round: the step's round of analysis, from 1.
        refuted: edits of the run that did not solve the tasks they were tried on.
        overlap: what is begun before its turn; None does all in sequence.
        early: the piece of work that this run does before its turn.
        elsewhere: makes attempts in other processes; None makes them in this one.
        scored: whether attempts are scored; where not, they are made for their answers alone.
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
    confirmation: tuple[Task, ...] = ()
    judge: ChatBackend | None = None
    hide: Hide = str
    prompts: dict[str, str] = field(default_factory=dict)
    unanswered: dict[str, int] = field(default_factory=dict)
    labels: dict[Split, Labels] = field(default_factory=dict)
    step: StepPlan | None = None
    folder: str = ""
    memory: str = ""
    control: Control = field(default_factory=Unsteered)
    hints: tuple[str, ...] = ()
    round: int = 1
    refuted: tuple[Trial, ...] = ()
    overlap: Overlap | None = None
    early: Early | None = None
    elsewhere: AttemptRunner | None = None
    scored: bool = True

    @cached_property
    def attempt_runner(self) -> AttemptRunner:
        """What makes attempts. Found once: whether a benchmark is interactive is a slow check."""
        if self.elsewhere is not None:
            return self.elsewhere
        interactive = self.benchmark if isinstance(self.benchmark, Interactive) else None
        return LocalRunner(self.target, interactive, self.executor, self.hide)

    @cached_property
    def judged(self) -> Judged | None:
        """The benchmark, where a model judges attempts. Found once: such a check is slow."""
        return self.benchmark if isinstance(self.benchmark, Judged) else None

    @cached_property
    def referenced(self) -> Referenced | None:
        """The benchmark, where it gives references by itself. Found once, as that is slow too."""
        return self.benchmark if isinstance(self.benchmark, Referenced) else None

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

    def tasks(self, named: TaskSet) -> tuple[Task, ...]:
        """The tasks of a split that the run uses, or all that the benchmark has."""
        if named == "all":
            return tuple(task for split in SPLITS for task in self.benchmark.tasks(split))
        return self.splits[named]

    def at(self, step: StepPlan, memory: str = "") -> Run:
        """This run, working on `step` with the notes of earlier epochs."""
        return replace(self, step=step, folder=f"{step.folder}/", memory=memory)

    def in_round(self, number: int, refuted: Sequence[Trial]) -> Run:
        """This run, in a round of analysis of its step."""
        return replace(self, round=number, refuted=tuple(refuted))

    def of_round(self, path: str) -> str:
        """A path of the round: in a folder of its own after the first."""
        return path if self.round == 1 else f"round_{self.round}/{path}"

    def closing(self, step: StepPlan, memory: str) -> Run:
        """This run, at the end of the epoch that `step` closes."""
        return replace(self, step=step, folder="", memory=memory)

    @property
    def draw(self) -> int:
        """The sample index of the target's attempts in a step: its seed, 0 outside steps."""
        return self.step.seed if self.step else 0

    @property
    def verifies(self) -> bool:
        """Whether edits are tried on tasks; the learning rate then limits those that pass."""
        return self.config.optimizer.verify != "off"

    def batch(self, step: StepPlan, solved: Sequence[str] = ()) -> tuple[Task, ...]:
        """The step's train tasks, without those that it leaves out as solved before."""
        known, share = frozenset(solved), self.config.optimizer.rerun_solved
        epoch_seed = self.plan.seed + 1000 * step.epoch
        tasks = self.plan.batch(self.splits["train"], step)
        return tuple(t for t in tasks if not left_out(t.id, known, epoch_seed, share))

    def noted(
        self, state: TrainState, trajectories: Sequence[Trajectory], refuted: Sequence[Trial] = ()
    ) -> TrainState:
        """The state with what later steps go by of attempts and trials, where settings ask for it.

        Args:
            trajectories: under the text that is current after the step.
        """
        settings = self.config.optimizer
        if settings.rejected_memory == "edit":
            state = replace(state, refuted=(*state.refuted, *refuted))
        if settings.rerun_solved == 1.0:
            return state
        seen = {t.task.id: not t.failed for t in trajectories if t.score is not None}
        kept = {task for task in state.solved if seen.get(task, True)}
        solved = sorted(kept | {task for task, right in seen.items() if right})
        return replace(state, solved=tuple(solved))

    def nothing_to_gain(self, state: TrainState) -> str | None:
        """Why training ends before its last step, or None."""
        settings, patience = self.config.optimizer, self.config.evaluation.patience
        tracked = self.config.gradient.failure_only and settings.rerun_solved < 1.0
        unlearned = len(self.splits["train"]) - len(state.solved) if tracked else None
        guided = settings.use_slow_update
        return stop_reason(state, self.rule, patience, unlearned, guided=guided)

    @cached_property
    def capped(self) -> bool:
        """Whether a cap may end the run before the work of its plan is done."""
        return any(getattr(self.config.run, cap) is not None for cap in CAPS)

    def begin(self, name: str, work: Callable[[Run], Awaitable[Any]]) -> None:
        """Let a piece of work start that the run is sure to do."""
        if self.overlap is not None:
            self.overlap.begin(self, name, work)

    async def finish(self, name: str, work: Callable[[Run], Awaitable[T]]) -> T:
        """The result of a piece of work whose turn it is, whether it was begun or not."""
        if self.overlap is None:
            return await work(self)
        return await self.overlap.finish(self, name, work)

    def place(self) -> AbstractAsyncContextManager[None]:
        """A block that makes one attempt."""
        return nullcontext() if self.overlap is None else self.overlap.place(self.early)

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
        """Save the state for good, then emit the fact."""
        skill = state.current.skill
        self._lay_down(f"skills/step_{state.done:04d}", skill)
        for path in ("best_skill", "skills/best_skill"):
            self._lay_down(path, state.best.skill)
        self.store.save_state(state)
        self.emit(self.recorded(state))

    def recorded(self, state: TrainState) -> CheckpointSaved:
        """The progress of a run by a checkpoint."""
        return CheckpointSaved(
            done=state.done,
            current_score=state.current.mean(self.metric),
            best_score=state.best.mean(self.metric),
            current_step=state.current_step,
            best_step=state.best_step,
            current_epoch=state.current_epoch,
            best_epoch=state.best_epoch,
            chars=state.current.skill.chars,
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
    attempting = stage in ATTEMPTING
    workers = run.config.run.workers if attempting else run.config.gradient.analyst_workers
    run.emit(StageStarted(run.number, stage, units, workers, label))
    yield
    run.emit(StageFinished(run.number, stage, label))
