"""The SearchQA benchmark: questions over search results, scored by the SQuAD measures.

Data: Dunn et al., "SearchQA: A New Q&A Dataset Augmented with Context from a Search Engine" (2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from skillopt_cli.benchmarks.kit.benchmark import TextBenchmark
from skillopt_cli.benchmarks.kit.options import BenchmarkOptions
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.kit.squad import normalise
from skillopt_cli.benchmarks.searchqa.prepare import COUNTS, prepare
from skillopt_cli.benchmarks.searchqa.prompts import PROMPTS
from skillopt_cli.benchmarks.searchqa.scoring import score_reply
from skillopt_cli.benchmarks.searchqa.tasks import cut_context, read_task
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Section, Task


class SearchQA(TextBenchmark[BenchmarkOptions]):
    """SearchQA tasks; see `ports.Benchmark`."""

    name = "searchqa"
    prompts = PROMPTS
    options_type = BenchmarkOptions
    sample = Path(__file__).parent / "sample"

    def task(self, record: Record) -> Task:
        """Question, context and answers."""
        task = read_task(record)
        record.refuse_empty(task.data["answers"], normalise)
        return task

    def sections(self, task: Task) -> Sequence[Section]:
        """Context and question."""
        context = cut_context(task.data["context"])
        given = [Section("Context", context)] if context.strip() else []
        return [*given, Section("Question", task.data["question"])]

    def score_attempt(self, task: Task, attempt: Attempt) -> Score:
        """Exact match (hard) and word F1 (soft) of the extracted answer."""
        return score_reply(attempt.answer, self.expected(task))


SPEC = SearchQA.spec(
    "open questions over retrieved passages (exact match, word F1)",
    sizes=COUNTS,
    prepare=prepare,
)
