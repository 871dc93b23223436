"""The `folder` benchmark: any task file or folder of splits, with a scorer named by an option.

A record holds `prompt` or `question`, and `answer`, `answers` or `reference`; `id`, `context`,
`kind`, `choices` and `pattern` are optional. Capitals in these names are no matter.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skillopt_cli.benchmarks.folder.inference import infer
from skillopt_cli.benchmarks.folder.options import ROLE, RUBRIC, SEED_SKILL, FolderOptions
from skillopt_cli.benchmarks.folder.tasks import (
    PROMPT_KEYS,
    check_named,
    needed_cells,
    only_key,
    references,
    refuse_one_column,
    uniform,
)
from skillopt_cli.benchmarks.kit.benchmark import JudgedAnswers, TextBenchmark
from skillopt_cli.benchmarks.kit.choices import lettered
from skillopt_cli.benchmarks.kit.empty_cells import EmptyCell
from skillopt_cli.benchmarks.kit.options import read_options
from skillopt_cli.benchmarks.kit.prompts import Prompts
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.kit.scorers import (
    Scorer,
    clear_case,
    make_scorer,
    pattern_fault,
)
from skillopt_cli.benchmarks.kit.splits import squeezed
from skillopt_cli.benchmarks.kit.typography import folded
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Message, Section, Task
from skillopt_cli.ports import Benchmark, BenchmarkRequest, BenchmarkSpec

_SHOWN = 40
"""Characters of an answer that a message shows."""


class FolderBenchmark(TextBenchmark[FolderOptions]):
    """Tasks of a folder, briefed and scored by the settings; see `ports.Benchmark`."""

    name = "folder"
    prompts = Prompts(role=ROLE, seed_skill=SEED_SKILL)
    options_type = FolderOptions

    def __init__(self, request: BenchmarkRequest) -> None:
        super().__init__(request)
        options = self.options
        refuse_one_column(options)
        self._scorer = _scorer_of(options)
        self.prompts = Prompts(
            role=options.role,
            answer_format=options.answer_format or self._scorer.answer_format,
            seed_skill=options.seed_skill,
            rubric=options.rubric or RUBRIC,
        )
        self.seed_skill = options.seed_skill
        # Of what differs from the defaults alone: an option that is new here alters no earlier run.
        changed = options.model_dump(exclude={"seed_skill"}, exclude_defaults=True)
        self.version = f"1-{options.scorer}-{_digest(changed)}"

    def task(self, record: Record) -> Task:
        """A record as a task whose references score full marks."""
        options = self.options
        record = uniform(record, options)
        check_named(record, options)
        prompt_key = options.prompt_key or only_key(record, PROMPT_KEYS, "prompt_key")
        shown_as = "question" if prompt_key == "question" else "prompt"
        data: dict[str, Any] = {shown_as: record.text(prompt_key)}
        context_key = options.context_key or "context"
        if record.data.get(context_key) is not None:
            data["context"] = record.text(context_key, blank=True)
        if record.data.get("choices") is not None:
            data["choices"] = record.texts("choices")
        scored = self.request.scored
        data["answers"] = references(record, options) if scored else ()
        if options.scorer == "regex":
            own = record.data.get("pattern") is not None
            pattern = record.text("pattern") if own else options.pattern
            data |= {"pattern": sys.intern(pattern)} if pattern else {}
        if scored and (fault := self._scorer.check(data)):
            raise record.fault(fault)
        kind = sys.intern(record.kind("task"))
        id_key = options.id_key or "id"
        named = options.id_key or record.data.get("id") is not None
        # Of tasks without answers any two may be the same.
        unnamed = f"task-{_digest(data)}" if scored else f"line-{record.number}"
        task_id = record.identifier(id_key) if named else unnamed
        return Task(task_id, kind, data)

    def empty_cells(self, record: Record) -> Sequence[EmptyCell]:
        """Those of task text, reference and named id, and of options where these are scored."""
        record = uniform(record, self.options)
        return needed_cells(record, self.options, scored=self.request.scored)

    def content(self, task: Task) -> Iterable[str]:
        """Context, question, options and references, whatever the order of these."""
        return [*_shown(task.data), *sorted(task.data["answers"])]

    def asked(self, task: Task) -> Iterable[str]:
        """Context, question and options, and the pattern: a task with another is another task."""
        return [*_shown(task.data), task.data.get("pattern", "")]

    def contradiction(self, one: Task, other: Task) -> str:
        """The first answers of both, where the scorer takes no answer of one for the other."""
        mine, theirs = one.data["answers"], other.data["answers"]
        if squeezed(sorted(mine)) == squeezed(sorted(theirs)):
            return ""
        if self._right(one, theirs) and self._right(other, mine):
            return ""
        return f"`{mine[0][:_SHOWN]}` and `{theirs[0][:_SHOWN]}`"

    def _right(self, task: Task, answers: Sequence[str]) -> bool:
        return any(self._scorer.score(task.data, answer).hard == 1.0 for answer in answers)

    def sections(self, task: Task) -> Sequence[Section]:
        """Context if there is one, the task, and the options if there are any."""
        data = task.data
        sections = []
        if data.get("context"):
            sections.append(Section("Context", data["context"]))
        sections.append(Section("Question" if "question" in data else "Task", _asked(data)))
        if "choices" in data:
            sections.append(Section("Options", lettered(data["choices"])))
        return sections

    def expected(self, task: Task) -> tuple[str, ...]:
        """The references, as the scorer shows them; none where tasks need none."""
        if not self.request.scored:
            return ()
        return self._scorer.score(task.data, "").expected

    def label(self, task: Task) -> str:
        """The references, without case and the marks around them."""
        return " ".join(map(folded, self.expected(task)))

    def normalised(self, answer: str) -> str:
        """An answer in the form in which the named scorer compares it."""
        return self._scorer.normalised(answer)

    def score_attempt(self, task: Task, attempt: Attempt) -> Score:
        """The named scorer's score."""
        return self._scorer.score(task.data, attempt.answer)


class JudgedFolder(JudgedAnswers[FolderOptions], FolderBenchmark):
    """Tasks of a folder whose answers a judge compares with the references; see `ports.Judged`."""

    def ask_judge(self, task: Task, attempt: Attempt) -> tuple[Message, ...] | Score:
        """The score of an answer that is clear, or of none, else the messages to the judge."""
        if attempt.ending == "gave_up":
            return self.given_up(task, attempt)
        return super().ask_judge(task, attempt)

    def clear_score(self, task: Task, answer: str) -> Score | None:
        """The score of a reference, word for word, or of no answer."""
        return clear_case(task.data["answers"], answer)

    def asked(self, task: Task) -> Iterable[str]:
        """The whole content: whether two answers differ, only a judge could tell."""
        return self.content(task)

    def question_for_judge(self, task: Task) -> str:
        """The whole task, as the target reads it."""
        return self.brief(task).prompt


def open_folder(request: BenchmarkRequest) -> Benchmark:
    """Load the tasks and check that every reference scores full marks.

    Raises:
        ConfigError: an option is unknown or malformed, or there is nothing to read.
        DataError: a record is unusable; see `load_splits` for the rest.
    """
    options = read_options(FolderOptions, request.options, FolderBenchmark.name)
    kind = JudgedFolder if options.scorer == "judge" and request.scored else FolderBenchmark
    return kind.open(request)


def _scorer_of(options: FolderOptions) -> Scorer:
    if options.scorer == "regex" and options.pattern and (why := pattern_fault(options.pattern)):
        raise ConfigError(f"`env.pattern` {why}", "try it with Python's `re.search`")
    try:
        return make_scorer(options.scorer, options.tolerance)
    except ValueError as error:
        raise ConfigError(f"`env.tolerance`: {error}") from None


def _shown(data: Mapping[str, Any]) -> list[str]:
    return [data.get("context", ""), _asked(data), *data.get("choices", ())]


def _asked(data: Mapping[str, Any]) -> str:
    return str(data["question"] if "question" in data else data["prompt"])


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


SPEC = BenchmarkSpec(
    name="folder",
    summary="your own tasks: a folder of splits or one task file, with a named scorer",
    open=open_folder,
    options=FolderOptions,
    judged_with={"scorer": "judge"},
    infer=infer,
)
