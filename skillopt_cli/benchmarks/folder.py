"""The `folder` benchmark: any task file or folder of splits, with a scorer named by an option.

A record holds `prompt` or `question`, and `answer`, `answers` or `reference`; `id`, `context`,
`kind`, `choices` and `pattern` are optional.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from skillopt_cli.benchmarks.answers import extract_answer, given_up
from skillopt_cli.benchmarks.choice import lettered
from skillopt_cli.benchmarks.json_fields import object_text
from skillopt_cli.benchmarks.judging import RIGHT_OR_WRONG, Judgement, ask, verdict_score
from skillopt_cli.benchmarks.options import BenchmarkOptions, read_options
from skillopt_cli.benchmarks.records import Record
from skillopt_cli.benchmarks.scorers import (
    Scorer,
    ScorerName,
    clear_case,
    make_scorer,
    pattern_fault,
)
from skillopt_cli.benchmarks.splits import Splits, SplitTasks, TaskFormat, load_splits, squeezed
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Message, Section, Task
from skillopt_cli.ports import Benchmark, BenchmarkRequest, BenchmarkSpec

PROMPT_KEYS = ("prompt", "question")
ANSWER_KEYS = ("answer", "answers", "reference")
_NAMED = 8
"""Keys of a record that a message names."""
RUBRIC = (
    "You grade answers. An answer is correct when it says what the reference answer says about what"
    " was asked, in whatever words, order and form. It is incorrect when it leaves out a part of"
    " that, adds something that contradicts it, or gives several answers to choose from."
)


class FolderOptions(BenchmarkOptions):
    """The `env.*` keys of the folder benchmark."""

    scorer: ScorerName = "exact"
    """How an answer is compared with its references."""
    tolerance: str = Field("0", coerce_numbers_to_str=True)
    """How far a number may be off: an amount such as 0.5, or a share such as 1%."""
    pattern: str = ""
    """Regular expression for records without a `pattern` of their own."""
    rubric: str = ""
    """What the judge of the scorer judge calls a right answer; empty takes a wording of ours."""
    prompt_key: str = ""
    """Key of the task text; empty takes prompt or question."""
    answer_key: str = ""
    """Key of the reference; empty takes answer, answers or reference."""
    role: str = "You solve the task you are given."
    """One line on who the target is and what it does."""
    answer_format: str = ""
    """How the target marks its answer; empty takes the scorer's own wording."""
    seed_skill: str = "# Task\n\nRead the task carefully and give the answer it asks for.\n"
    """Text training starts from, unless env.skill_init names a file."""


class FolderBenchmark(SplitTasks):
    """Tasks of a folder, briefed and scored as the options say; see `ports.Benchmark`."""

    name = "folder"
    needs: frozenset[str] = frozenset()

    def __init__(self, splits: Splits, options: FolderOptions, scorer: Scorer) -> None:
        super().__init__(splits)
        self.seed_skill = options.seed_skill
        # Of what differs from the defaults alone: an option that is new here alters no earlier run.
        told = options.model_dump(exclude={"seed_skill"}, exclude_defaults=True)
        self.version = f"1-{options.scorer}-{_digest(told)}"
        self._role = options.role
        self._answer_format = options.answer_format or scorer.answer_format
        self._scorer = scorer

    def brief(self, task: Task) -> Brief:
        """Context if there is one, the task, and the options if there are any."""
        data = task.data
        sections = []
        if data.get("context"):
            sections.append(Section("Context", data["context"]))
        sections.append(Section("Question" if "question" in data else "Task", _asked(data)))
        if "choices" in data:
            sections.append(Section("Options", lettered(data["choices"])))
        return Brief(task.id, self._role, tuple(sections), self._answer_format)

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """The named scorer's verdict; a target that gave up scores 0."""
        score = self._scorer.score(task.data, attempt.answer)
        if attempt.ending == "gave_up":
            return given_up(score.expected)
        return score


class JudgedFolder(FolderBenchmark):
    """Tasks of a folder whose answers a judge compares with the references; see `ports.Judged`."""

    def __init__(self, splits: Splits, options: FolderOptions, scorer: Scorer) -> None:
        super().__init__(splits, options, scorer)
        self._rubric = options.rubric or RUBRIC

    def ask_judge(self, task: Task, attempt: Attempt) -> tuple[Message, ...] | Score:
        """The score of an answer that is clear, else what to ask."""
        answers = task.data["answers"]
        if attempt.ending == "gave_up":
            return given_up(answers)
        answer = extract_answer(attempt.answer)
        question = self.brief(task).prompt
        case = Judgement(question, " or ".join(answers), answer)
        return clear_case(answers, answer) or ask(self._rubric, case, RIGHT_OR_WRONG)

    def hear_judge(self, task: Task, attempt: Attempt, reply: str) -> Score | None:
        """Right or wrong, as the judge says."""
        return verdict_score(reply, task.data["answers"], extract_answer(attempt.answer))


def open_folder(request: BenchmarkRequest) -> Benchmark:
    """Load the tasks and check that every reference scores full marks.

    Raises:
        ConfigError: an option is unknown or malformed, or there is nothing to read.
        DataError: a record is unusable; see `load_splits` for the rest.
    """
    options, scorer = _validated(request)
    form = TaskFormat(lambda record: _task(record, options, scorer), _content)
    kind = JudgedFolder if options.scorer == "judge" else FolderBenchmark
    return kind(load_splits(request, "folder", form), options, scorer)


def _validated(request: BenchmarkRequest) -> tuple[FolderOptions, Scorer]:
    options = read_options(FolderOptions, request.options, "folder")
    if options.scorer == "regex" and options.pattern and (why := pattern_fault(options.pattern)):
        raise ConfigError(f"`env.pattern` {why}", "try it with Python's `re.search`")
    try:
        return options, make_scorer(options.scorer, options.tolerance)
    except ValueError as error:
        raise ConfigError(f"`env.tolerance`: {error}") from None


def _task(record: Record, options: FolderOptions, scorer: Scorer) -> Task:
    prompt_key = options.prompt_key or _only_key(record, PROMPT_KEYS, "prompt_key")
    shown_as = "question" if prompt_key == "question" else "prompt"
    data: dict[str, Any] = {shown_as: record.text(prompt_key)}
    if record.data.get("context") is not None:
        data["context"] = record.text("context", blank=True)
    if record.data.get("choices") is not None:
        data["choices"] = record.texts("choices")
    data["answers"] = _answers(record, options)
    if options.scorer == "regex":
        own = record.data.get("pattern") is not None
        pattern = record.text("pattern") if own else options.pattern
        data |= {"pattern": sys.intern(pattern)} if pattern else {}
    fault = scorer.check(data)
    if fault:
        raise record.fault(fault)
    kind = sys.intern(record.kind("task"))
    task_id = record.identifier() if "id" in record.data else f"task-{_digest(data)}"
    return Task(task_id, kind, data)


def _answers(record: Record, options: FolderOptions) -> tuple[str, ...]:
    present = [key for key in ANSWER_KEYS if record.data.get(key) is not None]
    if options.scorer == "regex" and not options.answer_key and not present:
        return ()
    key = options.answer_key or _only_key(record, ANSWER_KEYS, "answer_key")
    value = record.data.get(key)
    references = value if isinstance(value, list) else [value]
    if not any(isinstance(reference, dict) for reference in references):
        return record.texts(key)
    if options.scorer != "json":
        raise record.fault(f"`{key}` is an object, not text", "set env.scorer=json to compare it")
    told = [object_text(ref) if isinstance(ref, dict) else ref for ref in references]
    return replace(record, data={**record.data, key: told}).texts(key)


def _only_key(record: Record, keys: Sequence[str], option: str) -> str:
    present = [key for key in keys if record.data.get(key) is not None]
    if len(present) == 1:
        return present[0]
    if present:
        found = " and ".join(f"`{key}`" for key in present)
        raise record.fault(f"holds {found}", f"say which one counts with env.{option}")
    wanted = " or ".join(f"`{key}`" for key in keys)
    held = ", ".join(f"`{key}`" for key in list(record.data)[:_NAMED]) or "no key"
    raise record.fault(
        f"{wanted} is missing", f"the record has {held}; if one of these is meant, set env.{option}"
    )


def _asked(data: Mapping[str, Any]) -> str:
    return str(data["question"] if "question" in data else data["prompt"])


def _content(task: Task) -> str:
    """What is asked and wanted, whatever the case, spacing or order of its parts."""
    data = task.data
    parts = [data.get("context", ""), _asked(data), *data.get("choices", ())]
    return squeezed([*parts, *sorted(data["answers"])])


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


SPEC = BenchmarkSpec(
    name="folder",
    summary="your own tasks: a folder of splits or one task file, with a named scorer",
    open=open_folder,
    options=FolderOptions,
    judged_with={"scorer": "judge"},
)
