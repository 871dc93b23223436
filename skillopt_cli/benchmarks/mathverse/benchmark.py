"""The MathVerse benchmark: one diagram, options or a free answer.

Data: Zhang et al., "MathVerse: Does Your Multi-modal LLM Truly See the Diagrams in Visual Math
Problems?" (2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from skillopt_cli.benchmarks.kit.benchmark import JudgedAnswers, PictureBenchmark
from skillopt_cli.benchmarks.kit.pictures import PictureOptions
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.mathverse.equivalence import plain_text
from skillopt_cli.benchmarks.mathverse.prepare import VERSION, prepare
from skillopt_cli.benchmarks.mathverse.prompts import IN_PICTURE, PROMPTS
from skillopt_cli.benchmarks.mathverse.scoring import Equivalence, answered, clear_score
from skillopt_cli.benchmarks.mathverse.tasks import read_task
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Task
from skillopt_cli.ports import BenchmarkRequest

PACKAGE = "math_verify"
EXTRA = "math"


class MathVerseOptions(PictureOptions):
    """The `env.*` keys of MathVerse."""

    problem_version: str = VERSION
    """Which version of each problem to keep; empty keeps all."""
    equivalence: Equivalence = "algebra"
    """How free answers are compared before a judge is asked: algebra, or published (text alone)."""


class MathVerse(JudgedAnswers[MathVerseOptions], PictureBenchmark[MathVerseOptions]):
    """MathVerse tasks; see `ports.Judged`."""

    name = "mathverse"
    prompts = PROMPTS
    options_type = MathVerseOptions
    sample = Path(__file__).parent / "sample"

    def __init__(self, request: BenchmarkRequest) -> None:
        super().__init__(request)
        self.version = f"1-{self.options.equivalence}-{self.options.image_detail}"
        if self.options.equivalence == "algebra" and _missing():
            raise ConfigError(
                "mathverse compares answers with the package `math-verify`, which is not installed",
                f"pip install 'skillopt-cli[{EXTRA}]', or leave it to the judge with"
                " env.equivalence=published",
            )

    def folders(self, request: BenchmarkRequest) -> Sequence[Path]:
        """The folder of the settings, and `images` in it."""
        root = Path(self.options.image_root)
        return [root, root / "images"] if self.options.image_root else []

    def task(self, record: Record) -> Task:
        """Question, options, answer and diagram."""
        task = read_task(record, self.options.problem_version)
        if not task.data["choices"]:
            record.refuse_empty([task.data["answer"]], plain_text)
        return self.pictures.with_pictures(record, task)

    def answered(self, reply: str) -> str:
        """The answer that is tagged, boxed, or on the last line."""
        return answered(reply)

    def clear_score(self, task: Task, answer: str) -> Score | None:
        """The score of a choice, of an answer equal to the reference, or of no answer."""
        return clear_score(task.data, answer, self.options.equivalence)

    def question(self, task: Task) -> str:
        """The question, which may be in the picture."""
        return task.data["question"] or IN_PICTURE

    def question_for_judge(self, task: Task) -> str:
        """The question."""
        return self.question(task)


def _missing() -> str:
    return "" if find_spec(PACKAGE) else "the package math-verify"


SPEC = MathVerse.spec(
    "mathematics with a diagram: a choice, or a free answer (algebra, then a judge)",
    modality=("images",),
    prepare=prepare,
    extra=EXTRA,
    missing=_missing,
    judged=True,
)
