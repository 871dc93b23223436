"""What a task got under a text: each attempt with its answer and scores, and the mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from skillopt_cli.reports.task_texts import NO_TEXTS, AttemptTexts, Place
from skillopt_cli.runlog.attempt_folders import repeat_folder
from skillopt_cli.runlog.outcomes import Outcome, mean_outcome


@dataclass(frozen=True, slots=True)
class AnsweredAttempt:
    """One attempt; its scores are those of the log.

    Attributes:
        text: the answer; empty until the stage has ended.
        folder: of the run folder, with the attempt's own file.
        known: whether the run folder holds the text.
    """

    text: str
    outcome: Outcome
    folder: str
    known: bool = True


@dataclass(frozen=True, slots=True)
class TaskAnswer:
    """What a task got under one text: an attempt, or several where attempts are repeated."""

    attempts: tuple[AnsweredAttempt, ...]

    @property
    def outcome(self) -> Outcome:
        """The mean scores of the attempts that have some."""
        return mean_outcome([attempt.outcome for attempt in self.attempts])

    @property
    def shown(self) -> int:
        """Which attempt is shown, from 1: the first with a score, else the first."""
        scored = (n for n, one in enumerate(self.attempts, 1) if one.outcome.hard is not None)
        return next(scored, 1)

    @property
    def text(self) -> str:
        """The answer of the attempt that is shown."""
        return self.attempts[self.shown - 1].text

    @property
    def folder(self) -> str:
        """The folder of the attempt that is shown."""
        return self.attempts[self.shown - 1].folder


@dataclass(frozen=True, slots=True)
class Tried:
    """The attempts of a stage at a task.

    Attributes:
        folder: of the run folder, with the first attempts of the stage.
        outcomes: in the order they ended.
    """

    task: str
    folder: str
    outcomes: Sequence[Outcome]

    @property
    def places(self) -> Iterator[Place]:
        """Where the texts of the attempts are, in the order they were begun."""
        for number in range(1, len(self.outcomes) + 1):
            yield repeat_folder(self.folder, number), self.task

    def answer(self, texts: Mapping[Place, AttemptTexts]) -> TaskAnswer:
        """The attempts with their texts, in the order they were begun."""
        return TaskAnswer(tuple(self._attempts(texts)))

    def _attempts(self, texts: Mapping[Place, AttemptTexts]) -> Iterator[AnsweredAttempt]:
        left = list(self.outcomes)
        for place in self.places:
            found = texts.get(place, NO_TEXTS)
            # Which outcome is whose is seen by the scores.
            own = next((one for one in left if one[1:] == found.scores), left[0])
            left.remove(own)
            yield AnsweredAttempt(found.answer, own, place[0], found is not NO_TEXTS)
