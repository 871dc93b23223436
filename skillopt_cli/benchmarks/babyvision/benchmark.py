"""The BabyVision benchmark: one picture, options or blanks, and a judge where words differ.

Data: "BabyVision: Visual Reasoning Beyond Language" (2026).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from skillopt_cli.benchmarks.babyvision import scorer
from skillopt_cli.benchmarks.babyvision.items import Item, read_item
from skillopt_cli.benchmarks.babyvision.numbering import Base, Numbering
from skillopt_cli.benchmarks.babyvision.prepare import prepare
from skillopt_cli.benchmarks.babyvision.wording import (
    ANSWER_FORMAT,
    PROMPTS,
    ROLE,
    RUBRIC,
    SEED_SKILL,
)
from skillopt_cli.benchmarks.choice import LETTERS, expected, lettered
from skillopt_cli.benchmarks.judging import RIGHT_OR_WRONG, Judgement, ask
from skillopt_cli.benchmarks.options import read_options
from skillopt_cli.benchmarks.picture_items import JudgedPictures, content_of
from skillopt_cli.benchmarks.pictures import Album, PictureOptions
from skillopt_cli.benchmarks.records import Record
from skillopt_cli.benchmarks.splits import Splits, TaskFormat, load_splits
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Message, Section, Task
from skillopt_cli.ports import Benchmark, BenchmarkRequest, BenchmarkSpec

NAME = "babyvision"
SAMPLE = Path(__file__).parent / "sample"


class BabyVisionOptions(PictureOptions):
    """The `env.*` keys of BabyVision."""

    choice_base: Annotated[Base, BeforeValidator(str)] = "auto"
    """What whole numbers in choiceAns call the first option: 0, 1, or auto to see from the data."""


class BabyVision(JudgedPictures):
    """BabyVision tasks; see `ports.Judged`."""

    name = NAME
    seed_skill = SEED_SKILL

    def __init__(self, splits: Splits, album: Album, options: BabyVisionOptions) -> None:
        super().__init__(splits, album)
        self.version = f"1-{options.image_detail}"

    def brief(self, task: Task) -> Brief:
        """Question, options if there are any, and the picture."""
        sections = [Section("Question", task.data["question"])]
        if task.data["choices"]:
            sections.append(Section("Choices", _listed(task.data["choices"])))
        image = self._album.image(task.data["image"])
        return Brief(task.id, ROLE, tuple(sections), ANSWER_FORMAT, images=(image,))

    def answered(self, reply: str) -> str:
        """What stands in the box."""
        return scorer.boxed(reply)

    def ask_judge(self, task: Task, attempt: Attempt) -> tuple[Message, ...] | Score:
        """The score of an answer that is clear, else what to ask."""
        answer = self.answered(attempt.answer)
        score = scorer.clear_score(task.data, answer)
        if score is not None:
            return score
        asked = "\n".join(section.text for section in self.brief(task).sections)
        (reference,) = expected(task.data)
        return ask(RUBRIC, Judgement(asked, reference, answer), RIGHT_OR_WRONG)


def open_babyvision(request: BenchmarkRequest) -> Benchmark:
    """Load the tasks: named splits, the published file cut by ratio, prepared data, or the sample.

    Raises:
        ConfigError: an option is unknown or malformed.
        DataError: a file, record or picture is unusable; see `load_splits`.
    """
    options = read_options(BabyVisionOptions, request.options, NAME)
    roots = [Path(options.image_root)] if options.image_root else []
    album = Album(roots, options.image_detail)
    numbering = Numbering(options.choice_base)
    numbers: dict[str, Item] = {}

    def make(record: Record) -> Task:
        item = read_item(record, numbering)
        if item.number is not None:
            numbers[item.id] = item
        return item.task(album.add(record, str(item.image)))

    splits = load_splits(request, NAME, TaskFormat(make, content_of), SAMPLE)
    if numbers:
        splits = _counted(splits, numbers, numbering)
    return BabyVision(splits, album, options)


def _counted(splits: Splits, numbers: dict[str, Item], numbering: Numbering) -> Splits:
    """The tasks, with numbers read once all of them are known."""
    base = numbering.base

    def read(task: Task) -> Task:
        item = numbers.get(task.id)
        return task if item is None else item.counted(base).task(task.data["image"])

    tasks = {split: tuple(map(read, part)) for split, part in splits.tasks.items()}
    return replace(splits, source=f"{splits.source}; {numbering.told}", tasks=tasks)


def _listed(choices: Sequence[str]) -> str:
    """The options, one a line; their letters alone where the picture holds them."""
    letters = LETTERS[: len(choices)]
    return ", ".join(letters) if "".join(choices) == letters else lettered(choices)


SPEC = BenchmarkSpec(
    name=NAME,
    summary="early visual skills: one picture, a choice or a short answer (judged)",
    open=open_babyvision,
    options=BabyVisionOptions,
    modality=("images",),
    prepare=prepare,
    sample=SAMPLE,
    judged=True,
    prompts=PROMPTS,
)
