"""The MMRB benchmark: several pictures, options or an open answer.

Data: "Evaluating MLLMs with Multimodal Multi-image Reasoning Benchmark" (2025).
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import Field

from skillopt_cli.benchmarks.answers import given_up
from skillopt_cli.benchmarks.choice import expected, lettered
from skillopt_cli.benchmarks.mmrb.items import Item, read_item
from skillopt_cli.benchmarks.mmrb.marks import unmarked
from skillopt_cli.benchmarks.mmrb.prepare import FILES, prepare
from skillopt_cli.benchmarks.mmrb.scorer import (
    Matching,
    answered,
    marked_answer,
    score_answer,
)
from skillopt_cli.benchmarks.mmrb.wording import ANSWER_FORMAT, PROMPTS, ROLE, SEED_SKILL
from skillopt_cli.benchmarks.options import read_options
from skillopt_cli.benchmarks.pictures import Album, PictureOptions
from skillopt_cli.benchmarks.records import Record
from skillopt_cli.benchmarks.second_look import SecondLook
from skillopt_cli.benchmarks.splits import Splits, SplitTasks, TaskFormat, load_splits, squeezed
from skillopt_cli.core.episode import Episode
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Section, Task
from skillopt_cli.ports import Benchmark, BenchmarkRequest, BenchmarkSpec, Executor

NAME = "mmrb"
SAMPLE = Path(__file__).parent / "sample"


class MMRBOptions(PictureOptions):
    """The `env.*` keys of MMRB."""

    matching: Matching = "same"
    """How open answers are compared: same, or published (one may contain the other)."""
    max_turns: int = Field(1, ge=1)
    """Replies at most: one without a marked answer is asked for again."""


class MMRB(SplitTasks):
    """MMRB tasks; see `ports.Interactive`."""

    name = NAME
    seed_skill = SEED_SKILL
    needs = frozenset({"images"})

    def __init__(self, splits: Splits, album: Album, options: MMRBOptions) -> None:
        super().__init__(splits)
        self.version = f"1-{options.matching}-{options.image_detail}-{options.max_turns}"
        self._album = album
        self._options = options

    def brief(self, task: Task) -> Brief:
        """Question and options with the pictures at their marks, then those without one."""
        data = task.data
        sections = [Section("Question", data["question"])]
        if data["choices"]:
            sections.append(Section("Choices", lettered(data["choices"])))
        left = unmarked((data["question"], *data["choices"]), len(data["images"]))
        if left:
            marks = "\n".join(f"[image {n}]" for n in left)
            sections.append(Section("Pictures", marks))
        images = tuple(map(self._album.image, data["images"]))
        return Brief(
            task.id,
            ROLE,
            tuple(sections),
            ANSWER_FORMAT,
            images=images,
            max_turns=self._options.max_turns,
        )

    @asynccontextmanager
    async def episode(self, task: Task, executor: Executor) -> AsyncIterator[Episode]:
        """Further looks, where there are turns for them."""
        yield SecondLook(self._options.max_turns, lambda reply: marked_answer(reply) is not None)

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        """The reference, marked."""
        return Attempt(f"<answer>{expected(task.data)[0]}</answer>")

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """Whether the answer names the right option, or equals the open one; 0 for giving up."""
        if attempt.ending == "gave_up":
            return given_up(expected(task.data))
        return score_answer(task.data, answered(attempt.answer), self._options.matching)


def open_mmrb(request: BenchmarkRequest) -> Benchmark:
    """Load the tasks: named splits, the release cut by ratio, prepared data, or the sample.

    Raises:
        ConfigError: an option is unknown or malformed.
        DataError: a file, record or picture is unusable; see `load_splits`.
    """
    options = read_options(MMRBOptions, request.options, NAME)
    roots = (options.image_root, request.data_path)
    album = Album([Path(root) for root in roots if root], options.image_detail)

    def make(record: Record) -> Task:
        item = read_item(record)
        return _task(item, [album.add(record, name) for name in item.images])

    splits = load_splits(request, NAME, TaskFormat(make, _content, FILES), SAMPLE)
    return MMRB(splits, album, options)


def _task(item: Item, images: list[dict[str, str]]) -> Task:
    data = {
        "question": item.question,
        "choices": list(item.choices),
        "right": item.right,
        "answer": item.answer,
        "lettered": item.lettered,
        "images": images,
    }
    return Task(item.id, sys.intern(item.kind), data)


def _content(task: Task) -> str:
    """The question, its options and the pictures."""
    data = task.data
    digests = (image["digest"] for image in data["images"])
    return squeezed([data["question"], *data["choices"], *digests])


SPEC = BenchmarkSpec(
    name=NAME,
    summary="reasoning over several pictures: a choice, or an open answer (same text)",
    open=open_mmrb,
    options=MMRBOptions,
    modality=("images",),
    prepare=prepare,
    sample=SAMPLE,
    prompts=PROMPTS,
)
