"""The MMRB benchmark: several pictures, options or an open answer.

Data: "Evaluating MLLMs with Multimodal Multi-image Reasoning Benchmark" (2025).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from skillopt_cli.benchmarks.kit.benchmark import PictureBenchmark, RetriedAnswers
from skillopt_cli.benchmarks.kit.pictures import PictureOptions
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.mmrb.prepare import FILES, prepare
from skillopt_cli.benchmarks.mmrb.prompts import PROMPTS
from skillopt_cli.benchmarks.mmrb.scoring import Matching, answered, marked_answer, score_answer
from skillopt_cli.benchmarks.mmrb.tasks import marked_images, read_task
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Section, Task
from skillopt_cli.ports import BenchmarkRequest


class MMRBOptions(PictureOptions):
    """The `env.*` keys of MMRB."""

    matching: Matching = "same"
    """How open answers are compared: same, or published (one may contain the other)."""
    max_turns: int = Field(1, ge=1)
    """Replies at most: one without a marked answer is asked for again."""


class MMRB(RetriedAnswers[MMRBOptions], PictureBenchmark[MMRBOptions]):
    """MMRB tasks; see `ports.Interactive`."""

    name = "mmrb"
    prompts = PROMPTS
    options_type = MMRBOptions
    sample = Path(__file__).parent / "sample"
    pattern = FILES

    def __init__(self, request: BenchmarkRequest) -> None:
        super().__init__(request)
        options = self.options
        self.max_turns = options.max_turns
        self.version = f"1-{options.matching}-{options.image_detail}-{options.max_turns}"

    def folders(self, request: BenchmarkRequest) -> Sequence[Path]:
        """The folder of the settings, and that of the release."""
        return [Path(root) for root in (self.options.image_root, request.data_path) if root]

    def task(self, record: Record) -> Task:
        """Question, options, answer and pictures."""
        return self.pictures.with_pictures(record, read_task(record))

    def sections(self, task: Task) -> Sequence[Section]:
        """Question and options with the pictures at their marks, then those without one."""
        data = task.data
        sections = [*super().sections(task)]
        marked = marked_images((data["question"], *data["choices"]))
        left = [n for n in range(1, len(data["images"]) + 1) if n not in marked]
        if left:
            sections.append(Section("Pictures", "\n".join(f"[image {n}]" for n in left)))
        return sections

    def marked(self, reply: str) -> bool:
        """Whether a reply holds an answer in any of the marks."""
        return marked_answer(reply) is not None

    def score_attempt(self, task: Task, attempt: Attempt) -> Score:
        """Whether the answer names the right option, or equals the open one."""
        return score_answer(task.data, answered(attempt.answer), self.options.matching)


SPEC = MMRB.spec(
    "reasoning over several pictures: a choice, or an open answer (same text)",
    modality=("images",),
    prepare=prepare,
)
