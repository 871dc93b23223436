"""The BabyVision benchmark: one picture, options or blanks, and a judge where words differ.

Data: "BabyVision: Visual Reasoning Beyond Language" (2026).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from skillopt_cli.benchmarks.babyvision.prepare import prepare
from skillopt_cli.benchmarks.babyvision.prompts import PROMPTS
from skillopt_cli.benchmarks.babyvision.scoring import boxed, clear_score
from skillopt_cli.benchmarks.babyvision.tasks import Base, Numbering, counted, read_task
from skillopt_cli.benchmarks.kit.benchmark import JudgedAnswers, PictureBenchmark
from skillopt_cli.benchmarks.kit.choices import LETTERS, lettered
from skillopt_cli.benchmarks.kit.pictures import PictureOptions
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.kit.splits import Splits
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Task
from skillopt_cli.ports import BenchmarkRequest


class BabyVisionOptions(PictureOptions):
    """The `env.*` keys of BabyVision."""

    choice_base: Annotated[Base, BeforeValidator(str)] = "auto"
    """What whole numbers in choiceAns call the first option: 0, 1, or auto to see from the data."""


class BabyVision(JudgedAnswers[BabyVisionOptions], PictureBenchmark[BabyVisionOptions]):
    """BabyVision tasks; see `ports.Judged`."""

    name = "babyvision"
    prompts = PROMPTS
    options_type = BabyVisionOptions
    sample = Path(__file__).parent / "sample"

    def __init__(self, request: BenchmarkRequest) -> None:
        super().__init__(request)
        self.version = f"1-{self.options.image_detail}"
        self._numbering = Numbering(self.options.choice_base)

    def task(self, record: Record) -> Task:
        """Question, options, answer and picture; a number as the answer is read later."""
        return self.pictures.with_pictures(record, read_task(record, self._numbering))

    def load(self, request: BenchmarkRequest) -> Splits:
        """The tasks of a request, with numbers read once all of them are known."""
        splits = super().load(request)
        if not self._numbering.numbers:
            return splits
        base = self._numbering.base
        tasks = {
            split: tuple(counted(task, base) for task in part)
            for split, part in splits.tasks.items()
        }
        return replace(splits, source=f"{splits.source}; {self._numbering.note}", tasks=tasks)

    def choices_text(self, choices: Sequence[str]) -> str:
        """The options, one a line; their letters alone where the picture holds them."""
        letters = LETTERS[: len(choices)]
        return ", ".join(letters) if "".join(choices) == letters else lettered(choices)

    def answered(self, reply: str) -> str:
        r"""What `\boxed{…}` holds."""
        return boxed(reply)

    def clear_score(self, task: Task, answer: str) -> Score | None:
        """The score of an option named, of a blank filled as in the reference, or of no answer."""
        return clear_score(task.data, answer)

    def question_for_judge(self, task: Task) -> str:
        """Question and options."""
        return "\n".join(section.text for section in self.sections(task))


SPEC = BabyVision.spec(
    "early visual skills: one picture, a choice or a short answer (judged)",
    modality=("images",),
    prepare=prepare,
    judged=True,
)
