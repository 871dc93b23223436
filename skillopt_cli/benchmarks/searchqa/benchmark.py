"""The SearchQA benchmark: briefs with a bounded context, and the SQuAD measures.

Data: Dunn et al., "SearchQA: A New Q&A Dataset Augmented with Context from a Search Engine" (2017).
"""

from __future__ import annotations

import sys
from pathlib import Path

from skillopt_cli.benchmarks.answers import extract_answer, given_up
from skillopt_cli.benchmarks.options import refuse_unknown
from skillopt_cli.benchmarks.records import Record
from skillopt_cli.benchmarks.searchqa.prepare import COUNTS, prepare
from skillopt_cli.benchmarks.splits import SplitTasks, TaskFormat, load_splits, squeezed
from skillopt_cli.benchmarks.squad import squad_score
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Section, Task
from skillopt_cli.ports import Benchmark, BenchmarkRequest, BenchmarkSpec

CONTEXT_LIMIT = 6000
PIECE = "[DOC]"
CUT_MARK = "\n[the context is cut here]"
SAMPLE = Path(__file__).parent / "sample"

ROLE = "You answer questions from the passages you are given."
ANSWER_FORMAT = (
    "Think it over as long as you need. Then end with the short answer alone between tags, "
    "for example: <answer>Mount Everest</answer>"
)
SEED_SKILL = "# Question answering\n\nAnswer the question using the context.\n"


class SearchQA(SplitTasks):
    """SearchQA tasks; see `ports.Benchmark`."""

    name = "searchqa"
    version = "1"
    seed_skill = SEED_SKILL
    needs: frozenset[str] = frozenset()

    def brief(self, task: Task) -> Brief:
        """Context and question."""
        context = cut_context(task.data["context"])
        sections = [Section("Context", context)] if context.strip() else []
        sections.append(Section("Question", task.data["question"]))
        return Brief(task.id, ROLE, tuple(sections), ANSWER_FORMAT)

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """Exact match (hard) and word F1 (soft) of the extracted answer; 0 for giving up."""
        golds = task.data["answers"]
        if attempt.ending == "gave_up":
            return given_up(golds)
        return squad_score(extract_answer(attempt.answer), golds)


def cut_context(context: str, limit: int = CONTEXT_LIMIT) -> str:
    """At most `limit` characters: whole "[DOC]" pieces, or a marked cut through the first one."""
    if len(context) <= limit:
        return context
    end = context.rfind(PIECE, 0, limit + len(PIECE))
    whole = context[: max(end, 0)].rstrip()
    return whole or context[:limit] + CUT_MARK


def open_searchqa(request: BenchmarkRequest) -> Benchmark:
    """Load the tasks: named splits, prepared data, or the bundled sample.

    Raises:
        ConfigError: an option is unknown.
        DataError: a file or record is unusable; see `load_splits`.
    """
    refuse_unknown(request.options, SPEC.option_names, SPEC.name)
    return SearchQA(load_splits(request, SPEC.name, TaskFormat(_task, _content), SAMPLE))


def _task(record: Record) -> Task:
    if record.data.keys() == {"id"}:
        raise record.fault(
            "holds an id and nothing else",
            "fill the id manifest in: `skillopt data prepare searchqa --manifest-dir DIR`",
        )
    data = {
        "question": record.text("question"),
        "context": record.text("context", blank=True),
        "answers": record.texts("answers"),
    }
    return Task(record.identifier(), sys.intern(record.kind("qa")), data)


def _content(task: Task) -> str:
    """Question and answers, whatever their case and spacing: contexts may differ by retrieval."""
    return squeezed([task.data["question"], *sorted(task.data["answers"])])


SPEC = BenchmarkSpec(
    name="searchqa",
    summary="open questions over retrieved passages (exact match, word F1)",
    open=open_searchqa,
    sizes=COUNTS,
    prepare=prepare,
    sample=SAMPLE,
)
