"""Base classes of the benchmarks: text, pictures, tools, judged answers and retried answers.

A benchmark names itself, makes a task of each record, shows a task as sections, and scores an
attempt. Options, splits, briefs, episodes and attempts without an answer are handled here, and
`spec` is the value of its entry point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from skillopt_cli.benchmarks.kit.answers import extract_answer, given_up
from skillopt_cli.benchmarks.kit.choices import expected, lettered
from skillopt_cli.benchmarks.kit.empty_cells import EmptyCell
from skillopt_cli.benchmarks.kit.judges import (
    RIGHT_OR_WRONG,
    Verdict,
    ask,
    left_to_judge,
    verdict_score,
)
from skillopt_cli.benchmarks.kit.options import BenchmarkOptions, read_options
from skillopt_cli.benchmarks.kit.pictures import ImageStore, PictureOptions
from skillopt_cli.benchmarks.kit.prompts import Prompts
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.kit.splits import Splits, TaskFormat, load_splits, squeezed
from skillopt_cli.benchmarks.kit.tools import AnswerRetry, Offer
from skillopt_cli.benchmarks.kit.typography import plain_line
from skillopt_cli.core.episode import Episode
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Image, Message, Section, Split, Task
from skillopt_cli.ports import BenchmarkRequest, BenchmarkSpec, Executor

Options = TypeVar("Options", bound=BenchmarkOptions)
Pictured = TypeVar("Pictured", bound=PictureOptions)


class TextBenchmark(ABC, Generic[Options]):
    """Base of every benchmark of task files; see `ports.Benchmark`.

    Attributes:
        prompts: for target, judge and analysts.
        options_type: its `env.*` keys.
        sample: folder of the bundled splits; None without any.
        pattern: names of its task files; see `TaskFormat`.
        max_turns: replies at most.
        extra: the pip extra that brings its packages, if any.
        source: where its tasks come from; empty for a copy without tasks.
    """

    name: str
    version = "1"
    prompts: Prompts
    needs: frozenset[str] = frozenset()
    options_type: type[Options]
    sample: Path | None = None
    pattern = ""
    max_turns = 1
    extra = ""
    source = uncut_source = ""

    def __init__(self, request: BenchmarkRequest) -> None:
        self.request = request
        self.options = read_options(self.options_type, request.options, self.name)
        self.seed_skill = self.prompts.seed_skill

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy on another machine: constructed there, without tasks; see `ports.Filed`."""
        request = self.request
        return type(self), (replace(request, data_root=request.data_root.absolute()),)

    @classmethod
    def spec(cls, summary: str, **more: Any) -> BenchmarkSpec:
        """The value of the benchmark's entry point.

        Args:
            summary: what its tasks are and how they are scored, in a line.
            more: further fields of `BenchmarkSpec`.
        """
        own: dict[str, Any] = {
            "options": cls.options_type if cls.options_type.model_fields else None,
            "sample": cls.sample,
            "extra": cls.extra,
            "missing": cls.missing,
            "prompts": cls.prompts.analysts,
        }
        return BenchmarkSpec(cls.name, summary, cls.open, **(own | more))

    @classmethod
    def missing(cls) -> str:
        """What of its packages and programs is absent on this machine; "" when all are there."""
        return ""

    @classmethod
    def open(cls, request: BenchmarkRequest) -> Self:
        """Read the options and the tasks: named splits, a cut file, prepared data, or the sample.

        Raises:
            ConfigError: an option is unknown, malformed or cannot be served.
            DataError: something is missing, or a file or record is unusable; see `load_splits`.
        """
        benchmark = cls(request)
        if lacking := cls.missing():
            raise DataError(
                f"the {cls.name} benchmark needs {lacking}",
                f"pip install 'skillopt-cli[{cls.extra}]'",
            )
        benchmark.use(benchmark.load(request))
        return benchmark

    def load(self, request: BenchmarkRequest) -> Splits:
        """The tasks of a request."""
        form = TaskFormat(
            self.task,
            lambda task: squeezed(self.content(task)),
            self.pattern,
            self.label,
            self.empty_cells,
            lambda task: squeezed(self.asked(task)),
            self.contradiction,
        )
        return load_splits(request, self.name, form, self.sample)

    def use(self, splits: Splits) -> None:
        """Take these tasks."""
        self.source, self.uncut_source = splits.source, splits.uncut or splits.source
        self._splits = splits

    def tasks(self, split: Split) -> Sequence[Task]:
        """The tasks of a split."""
        return self._splits.of(split)

    def brief(self, task: Task) -> Brief:
        """What a target may know of a task."""
        return Brief(
            task.id,
            self.prompts.role,
            tuple(self.sections(task)),
            self.prompts.answer_format,
            images=self.images(task),
            max_turns=self.max_turns,
        )

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """The score of an attempt; 0 for giving up."""
        if attempt.ending == "gave_up":
            return self.given_up(task, attempt)
        return self.score_attempt(task, attempt)

    @abstractmethod
    def task(self, record: Record) -> Task:
        """A record as a task.

        Raises:
            DataError: it is unusable.
            LeftOut: a run does without it.
        """

    def empty_cells(self, record: Record) -> Sequence[EmptyCell]:
        """The empty cells of a row that its task needs; all those of a file are one error."""
        return ()

    @abstractmethod
    def sections(self, task: Task) -> Sequence[Section]:
        """The task as a target reads it, without the reference."""

    @abstractmethod
    def score_attempt(self, task: Task, attempt: Attempt) -> Score:
        """The score of an attempt with an answer."""

    def expected(self, task: Task) -> tuple[str, ...]:
        """The reference answers, as a person reads them; see `choices.expected`."""
        return expected(task.data)

    def content(self, task: Task) -> Iterable[str]:
        """Question and references; equal content in two splits is leakage."""
        return [task.data["question"], *sorted(self.expected(task))]

    def asked(self, task: Task) -> Iterable[str]:
        """All that a target is shown of a task, where repeated ones of a cut file are left out."""
        return ()

    def contradiction(self, one: Task, other: Task) -> str:
        """The answers of two tasks that ask the same, where these differ; "" where they agree."""
        return ""

    def label(self, task: Task) -> str:
        """What a ratio split "by label" spreads evenly: the kind of a task."""
        return task.kind

    def normalised(self, answer: str) -> str:
        """An answer in the form in which it is compared: texts that are equal in it score alike."""
        return plain_line(answer)

    def images(self, task: Task) -> tuple[Image, ...]:
        """The pictures of a task."""
        return ()

    def given_up(self, task: Task, attempt: Attempt) -> Score:
        """The score of an attempt without an answer."""
        return given_up(self.expected(task))


class PictureBenchmark(TextBenchmark[Pictured]):
    """Base of a benchmark of pictures; a task's data hold one `image` or several `images`."""

    needs = frozenset({"images"})

    def __init__(self, request: BenchmarkRequest) -> None:
        super().__init__(request)
        self.pictures = ImageStore(self.folders(request), self.options.image_detail)

    def folders(self, request: BenchmarkRequest) -> Sequence[Path]:
        """Where pictures are looked up, after the folder of their task file."""
        return [Path(self.options.image_root)] if self.options.image_root else []

    def images(self, task: Task) -> tuple[Image, ...]:
        """The pictures of a task, in the order of its data."""
        return tuple(map(self.pictures.image, _images(task)))

    def sections(self, task: Task) -> Sequence[Section]:
        """Question, and options if there are any."""
        choices = task.data.get("choices")
        options = [Section("Choices", self.choices_text(choices))] if choices else []
        return [Section("Question", self.question(task)), *options]

    def question(self, task: Task) -> str:
        """The question, as the target reads it."""
        return str(task.data["question"])

    def choices_text(self, choices: Sequence[str]) -> str:
        """The options, as the target reads them."""
        return lettered(choices)

    def content(self, task: Task) -> Iterable[str]:
        """Question, options and pictures."""
        digests = (image["digest"] for image in _images(task))
        return [task.data["question"], *task.data.get("choices", ()), *digests]


class ToolBenchmark(TextBenchmark[Options]):
    """Base of a benchmark whose target may call tools, for at most `max_turns` replies."""

    @abstractmethod
    def offers(self, task: Task) -> Sequence[Offer[Any]]:
        """The tools of a task; none where it is answered in one reply."""

    def brief(self, task: Task) -> Brief:
        """What a target may know of a task, and the tools that it may call."""
        tools = tuple(offer.tool for offer in self.offers(task))
        return replace(super().brief(task), tools=tools, max_turns=self.max_turns if tools else 1)

    def given_up(self, task: Task, attempt: Attempt) -> Score:
        """The score of an attempt without an answer, with the reason."""
        return given_up(self.expected(task), attempt.error)


class EpisodeBenchmark(TextBenchmark[Options]):
    """Base of a benchmark that scores what an episode left behind; see `ports.Interactive`."""

    def expected(self, task: Task) -> tuple[str, ...]:
        """None: no answer is compared."""
        return ()


class JudgedAnswers(TextBenchmark[Options]):
    """The part of a benchmark that asks a judge about unclear answers; see `ports.Judged`.

    Attributes:
        verdicts: what the judge may answer.
    """

    verdicts: tuple[Verdict, ...] = RIGHT_OR_WRONG

    @abstractmethod
    def clear_score(self, task: Task, answer: str) -> Score | None:
        """The score of an answer that needs no judge; None for any other."""

    def answered(self, reply: str) -> str:
        """The answer in a reply, empty where there is none: the tagged one, else the last line."""
        return extract_answer(reply)

    def question_for_judge(self, task: Task) -> str:
        """What the judge reads of a task: the question alone."""
        return str(task.data["question"])

    def ask_judge(self, task: Task, attempt: Attempt) -> tuple[Message, ...] | Score:
        """The score of an answer that is clear, else the messages to the judge."""
        answer = self.answered(attempt.answer)
        score = self.clear_score(task, answer)
        if score is not None:
            return score
        reference = " or ".join(self.expected(task))
        question = self.question_for_judge(task)
        return ask(self.prompts.rubric, question, reference, answer, self.verdicts)

    def hear_judge(self, task: Task, attempt: Attempt, reply: str) -> Score | None:
        """The score of a judge's reply; None when it is unclear."""
        expected, answer = self.expected(task), self.answered(attempt.answer)
        return verdict_score(reply, expected, answer, self.verdicts)

    def score_attempt(self, task: Task, attempt: Attempt) -> Score:
        """The score where no judge is needed; 0 for what only a judge could find right."""
        score = self.clear_score(task, self.answered(attempt.answer))
        return left_to_judge(self.expected(task)) if score is None else score


class RetriedAnswers(TextBenchmark[Options]):
    """The part of a benchmark that asks again for an unmarked answer; see `ports.Interactive`."""

    @abstractmethod
    def marked(self, reply: str) -> bool:
        """Whether a reply holds a marked answer."""

    @asynccontextmanager
    async def episode(self, task: Task, executor: Executor) -> AsyncIterator[Episode]:
        """Another request for an answer, as often as turns are left."""
        yield AnswerRetry(self.max_turns, self.marked)

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        """The reference, marked."""
        return Attempt(f"<answer>{self.expected(task)[0]}</answer>")


def _images(task: Task) -> Sequence[Mapping[str, str]]:
    images: Sequence[Mapping[str, str]] = task.data.get("images") or (task.data["image"],)
    return images
