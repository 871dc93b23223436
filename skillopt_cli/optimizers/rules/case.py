"""A case: one answer beside its references, and whether the references fit the task at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from skillopt_cli.benchmarks.kit.answers import extract_answer
from skillopt_cli.core.labels import Labels
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.task import Brief
from skillopt_cli.optimizers.rules.text import find, number, words
from skillopt_cli.ports import Benchmark
from skillopt_cli.stages.leak_check import task_answers

NO_LABELS = Labels()
GROUNDED = 0.75
"""Share of a reference's words that must occur in the task for it to be read from there."""


@dataclass(frozen=True, slots=True)
class Case:
    """One scored attempt, as the detectors see it.

    Attributes:
        given: the part of the reply that counts as the answer.
        wanted: references, best first: the one the answer shares most with, then in given order.
        told_of_tags: whether the target was asked for `<answer>` tags.
        tagged: whether the reply has them.
        label: the label of the task, where the answers of the benchmark are a label set.
    """

    brief: Brief
    given: str
    wanted: tuple[str, ...]
    failed: bool
    told_of_tags: bool = False
    tagged: bool = False
    label: str | None = None
    source: tuple[str, ...] = field(default=(), repr=False)

    @property
    def task(self) -> str:
        """The id of its task."""
        return self.brief.task_id

    @property
    def reference(self) -> str:
        """The reference the answer is compared with."""
        return self.wanted[0]

    @property
    def aligned(self) -> bool:
        """Whether answer and reference are one within the other, or the same number."""
        given, wanted = words(self.given), words(self.reference)
        if find(given, wanted) >= 0 or find(wanted, given) >= 0:
            return True
        value = number(self.given)
        return value is not None and value == number(self.reference)

    @property
    def grounded(self) -> bool:
        """Whether some reference can be read from the task."""
        return any(_share(words(text), self.source) >= GROUNDED for text in self.wanted)

    @property
    def consistent(self) -> bool:
        """Whether the references fit this task: the condition for learning from it.

        References that belong to other tasks are neither near the answer nor found in the text. A
        label need not be: whether words separate labels shows in their counts.
        """
        return self.label is not None or self.aligned or self.grounded

    def stands_in_task(self, text: str) -> bool:
        """Whether a text occurs in the task word for word."""
        return find(words(text), self.source) >= 0


def read_cases(
    benchmark: Benchmark, trajectories: Sequence[Trajectory], labels: Labels = NO_LABELS
) -> list[Case]:
    """Cases of the scored trajectories that come with references, in order."""
    scored = [t for t in trajectories if t.score and t.score.expected]
    return [_read(benchmark.brief(t.task), t, labels) for t in scored]


def _read(brief: Brief, trajectory: Trajectory, labels: Labels) -> Case:
    attempt, score = trajectory.attempt, trajectory.score
    assert score is not None
    given = extract_answer(attempt.answer)
    shown = "\n".join(m.content for m in attempt.messages if m.role != "assistant")
    told = "<answer>" in brief.answer_format and brief.answer_format in shown
    return Case(
        brief=brief,
        given=given,
        wanted=tuple(sorted(score.expected, key=lambda text: -_nearness(given, text))),
        failed=trajectory.failed,
        told_of_tags=told,
        tagged="<answer>" in attempt.answer.lower(),
        label=labels.label_of(task_answers(trajectory.task, score.expected).references),
        source=words("\n".join(section.text for section in brief.sections)),
    )


def _nearness(given: str, wanted: str) -> float:
    """How much an answer and a reference share, in [0, 1]: word overlap."""
    a, b = set(words(given)), set(words(wanted))
    return len(a & b) / len(a | b) if a | b else 0.0


def _share(part: Sequence[str], whole: Sequence[str]) -> float:
    known = set(whole)
    return sum(word in known for word in part) / len(part) if part else 0.0
