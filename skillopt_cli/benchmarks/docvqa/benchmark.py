"""The DocVQA benchmark: one page, one question, an answer compared by edits.

Data: Mathew et al., "DocVQA: A Dataset for VQA on Document Images" (2021).
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import Field

from skillopt_cli.benchmarks.answers import extract_answer, given_up, tagged
from skillopt_cli.benchmarks.docvqa.anls import anls_score
from skillopt_cli.benchmarks.docvqa.items import Item, read_item
from skillopt_cli.benchmarks.docvqa.prepare import COUNTS, prepare
from skillopt_cli.benchmarks.docvqa.wording import ANSWER_FORMAT, PROMPTS, ROLE, SEED_SKILL
from skillopt_cli.benchmarks.options import read_options
from skillopt_cli.benchmarks.pictures import Album, PictureOptions
from skillopt_cli.benchmarks.records import Record
from skillopt_cli.benchmarks.second_look import SecondLook
from skillopt_cli.benchmarks.splits import Splits, SplitTasks, TaskFormat, load_splits, squeezed
from skillopt_cli.core.episode import Episode
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Section, Task
from skillopt_cli.ports import Benchmark, BenchmarkRequest, BenchmarkSpec, Executor

NAME = "docvqa"
SAMPLE = Path(__file__).parent / "sample"


class DocVQAOptions(PictureOptions):
    """The `env.*` keys of DocVQA."""

    max_turns: int = Field(1, ge=1)
    """Replies at most: one without a marked answer is asked for again."""


class DocVQA(SplitTasks):
    """DocVQA tasks; see `ports.Interactive`."""

    name = NAME
    seed_skill = SEED_SKILL
    needs = frozenset({"images"})

    def __init__(self, splits: Splits, album: Album, options: DocVQAOptions) -> None:
        super().__init__(splits)
        self.version = f"1-{options.image_detail}-{options.max_turns}"
        self._album = album
        self._options = options

    def brief(self, task: Task) -> Brief:
        """The question, and the page."""
        page = self._album.image(task.data["image"])
        sections = (Section("Question", task.data["question"]),)
        turns = self._options.max_turns
        return Brief(task.id, ROLE, sections, ANSWER_FORMAT, images=(page,), max_turns=turns)

    @asynccontextmanager
    async def episode(self, task: Task, executor: Executor) -> AsyncIterator[Episode]:
        """Further looks, where there are turns for them."""
        yield SecondLook(self._options.max_turns, lambda reply: tagged(reply) is not None)

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        """The reference, marked."""
        return Attempt(f"<answer>{task.data['answers'][0]}</answer>")

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """ANLS of the extracted answer (soft), and whether it is 1 (hard); 0 for giving up."""
        answers = tuple(task.data["answers"])
        if attempt.ending == "gave_up":
            return given_up(answers)
        return anls_score(extract_answer(attempt.answer), answers)


def open_docvqa(request: BenchmarkRequest) -> Benchmark:
    """Load the tasks: named splits, one file cut by ratio, prepared data, or the sample.

    Raises:
        ConfigError: an option is unknown or malformed.
        DataError: a file, record or picture is unusable; see `load_splits`.
    """
    options = read_options(DocVQAOptions, request.options, NAME)
    # The published lists name pages relative to where a run is started.
    album = Album([Path(options.image_root or "."), Path()], options.image_detail)

    def make(record: Record) -> Task:
        if "question" not in record.data:
            raise record.fault(
                "holds no `question`",
                "fill the id manifest in: `skillopt data prepare docvqa --manifest-dir DIR`",
            )
        item = read_item(record)
        if not item.image:
            raise record.fault("names no picture", "give its path as `image_path`")
        return _task(item, album.add(record, item.image))

    splits = load_splits(request, NAME, TaskFormat(make, _content), SAMPLE)
    return DocVQA(splits, album, options)


def _task(item: Item, image: dict[str, str]) -> Task:
    data = {"question": item.question, "answers": list(item.answers), "image": image}
    return Task(item.id, sys.intern(item.kind), data)


def _content(task: Task) -> str:
    """The question and the page."""
    return squeezed([task.data["question"], task.data["image"]["digest"]])


SPEC = BenchmarkSpec(
    name=NAME,
    summary="questions about pages of documents (ANLS)",
    open=open_docvqa,
    options=DocVQAOptions,
    modality=("images",),
    sizes=COUNTS,
    prepare=prepare,
    sample=SAMPLE,
    prompts=PROMPTS,
)
