"""The MathVerse benchmark: one diagram, options or a free answer.

Data: Zhang et al., "MathVerse: Does Your Multi-modal LLM Truly See the Diagrams in Visual Math
Problems?" (2024).
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from skillopt_cli.benchmarks.choice import lettered
from skillopt_cli.benchmarks.judging import RIGHT_OR_WRONG, Judgement, ask
from skillopt_cli.benchmarks.mathverse import scorer
from skillopt_cli.benchmarks.mathverse.items import read_item
from skillopt_cli.benchmarks.mathverse.prepare import VERSION, prepare
from skillopt_cli.benchmarks.mathverse.scorer import Equivalence
from skillopt_cli.benchmarks.mathverse.wording import (
    ANSWER_FORMAT,
    IN_PICTURE,
    PROMPTS,
    ROLE,
    RUBRIC,
    SEED_SKILL,
)
from skillopt_cli.benchmarks.options import read_options
from skillopt_cli.benchmarks.picture_items import JudgedPictures, content_of
from skillopt_cli.benchmarks.pictures import Album, PictureOptions
from skillopt_cli.benchmarks.records import Record
from skillopt_cli.benchmarks.splits import Splits, TaskFormat, load_splits
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Message, Section, Task
from skillopt_cli.ports import Benchmark, BenchmarkRequest, BenchmarkSpec

NAME = "mathverse"
SAMPLE = Path(__file__).parent / "sample"
PACKAGE = "math_verify"
EXTRA = "math"


class MathVerseOptions(PictureOptions):
    """The `env.*` keys of MathVerse."""

    problem_version: str = VERSION
    """Which version of each problem to keep; empty keeps all."""
    equivalence: Equivalence = "algebra"
    """How free answers are compared before a judge is asked: algebra, or published (text alone)."""


class MathVerse(JudgedPictures):
    """MathVerse tasks; see `ports.Judged`."""

    name = NAME
    seed_skill = SEED_SKILL

    def __init__(self, splits: Splits, album: Album, options: MathVerseOptions) -> None:
        super().__init__(splits, album)
        self.version = f"1-{options.equivalence}-{options.image_detail}"
        self._options = options

    def brief(self, task: Task) -> Brief:
        """Question, options if there are any, and the diagram."""
        sections = [Section("Question", task.data["question"] or IN_PICTURE)]
        if task.data["choices"]:
            sections.append(Section("Choices", lettered(task.data["choices"])))
        image = self._album.image(task.data["image"])
        return Brief(task.id, ROLE, tuple(sections), ANSWER_FORMAT, images=(image,))

    def answered(self, reply: str) -> str:
        """What is tagged, boxed, or said last."""
        return scorer.answered(reply)

    def ask_judge(self, task: Task, attempt: Attempt) -> tuple[Message, ...] | Score:
        """The score of an answer that is clear, else what to ask."""
        answer = self.answered(attempt.answer)
        score = scorer.clear_score(task.data, answer, self._options.equivalence)
        if score is not None:
            return score
        question = task.data["question"] or IN_PICTURE
        return ask(RUBRIC, Judgement(question, task.data["answer"], answer), RIGHT_OR_WRONG)


def open_mathverse(request: BenchmarkRequest) -> Benchmark:
    """Load the tasks: named splits, one file cut by ratio, prepared data, or the sample.

    Raises:
        ConfigError: an option is unknown or malformed, or the package math-verify is missing.
        DataError: a file, record or picture is unusable; see `load_splits`.
    """
    options = read_options(MathVerseOptions, request.options, NAME)
    if options.equivalence == "algebra" and find_spec(PACKAGE) is None:
        raise ConfigError(
            "mathverse compares answers with the package `math-verify`, which is not installed",
            f"pip install 'skillopt-cli[{EXTRA}]', or leave it to the judge with"
            " env.equivalence=published",
        )
    root = Path(options.image_root)
    roots = [root, root / "images"] if options.image_root else []
    album = Album(roots, options.image_detail)

    def make(record: Record) -> Task:
        item = read_item(record, options.problem_version)
        return item.task(album.add(record, str(item.image)))

    splits = load_splits(request, NAME, TaskFormat(make, content_of), SAMPLE)
    return MathVerse(splits, album, options)


def _missing() -> str:
    return "" if find_spec(PACKAGE) else "the package math-verify"


SPEC = BenchmarkSpec(
    name=NAME,
    summary="mathematics with a diagram: a choice, or a free answer (algebra, then a judge)",
    open=open_mathverse,
    options=MathVerseOptions,
    modality=("images",),
    prepare=prepare,
    sample=SAMPLE,
    extra=EXTRA,
    missing=_missing,
    judged=True,
    prompts=PROMPTS,
)
