"""The DocVQA benchmark: one page, one question, an answer compared by edits.

Data: Mathew et al., "DocVQA: A Dataset for VQA on Document Images" (2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from skillopt_cli.benchmarks.docvqa.prepare import COUNTS, prepare
from skillopt_cli.benchmarks.docvqa.prompts import PROMPTS
from skillopt_cli.benchmarks.docvqa.scoring import anls_score
from skillopt_cli.benchmarks.docvqa.tasks import read_task
from skillopt_cli.benchmarks.kit.answers import extract_answer, tagged
from skillopt_cli.benchmarks.kit.benchmark import PictureBenchmark, RetriedAnswers
from skillopt_cli.benchmarks.kit.pictures import PictureOptions
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Task
from skillopt_cli.ports import BenchmarkRequest


class DocVQAOptions(PictureOptions):
    """The `env.*` keys of DocVQA."""

    max_turns: int = Field(1, ge=1)
    """Replies at most: one without a marked answer is asked for again."""


class DocVQA(RetriedAnswers[DocVQAOptions], PictureBenchmark[DocVQAOptions]):
    """DocVQA tasks; see `ports.Interactive`."""

    name = "docvqa"
    prompts = PROMPTS
    options_type = DocVQAOptions
    sample = Path(__file__).parent / "sample"

    def __init__(self, request: BenchmarkRequest) -> None:
        super().__init__(request)
        self.max_turns = self.options.max_turns
        self.version = f"1-{self.options.image_detail}-{self.max_turns}"

    def folders(self, request: BenchmarkRequest) -> Sequence[Path]:
        """The published lists name pages relative to the folder that a run is started in."""
        return [Path(self.options.image_root or "."), Path()]

    def task(self, record: Record) -> Task:
        """Question, answers and page."""
        if "question" not in record.data:
            raise record.fault(
                "holds no `question`",
                "fill the id manifest in: `skillopt data prepare docvqa --manifest-dir DIR`",
            )
        task = read_task(record)
        if not task.data["image"]:
            raise record.fault("names no picture", "give its path as `image_path`")
        return self.pictures.with_pictures(record, task)

    def marked(self, reply: str) -> bool:
        """Whether a reply holds a tagged answer."""
        return tagged(reply) is not None

    def score_attempt(self, task: Task, attempt: Attempt) -> Score:
        """ANLS of the extracted answer (soft), and whether it is 1 (hard)."""
        return anls_score(extract_answer(attempt.answer), self.expected(task))


SPEC = DocVQA.spec(
    "questions about pages of documents (ANLS)",
    modality=("images",),
    sizes=COUNTS,
    prepare=prepare,
)
