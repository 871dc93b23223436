"""Schema inference: what the columns of a task file hold, how answers are scored, how it is cut.

A setting is inferred where the tasks leave one reading; otherwise the error lists the columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from skillopt_cli.benchmarks.folder.columns import (
    Choice,
    answer_column,
    context_column,
    id_column,
    other_answer,
    prompt_column,
    read_columns,
    unused_words,
)
from skillopt_cli.benchmarks.folder.options import FolderOptions
from skillopt_cli.benchmarks.folder.tasks import (
    ANSWER_KEYS,
    PROMPT_KEYS,
    UNANSWERED,
    needed_cells,
    references,
    refuse_missing,
    refuse_one_column,
    uniform,
)
from skillopt_cli.benchmarks.kit.empty_cells import refuse_empty_cells
from skillopt_cli.benchmarks.kit.json_fields import read_object
from skillopt_cli.benchmarks.kit.numbers import is_amount
from skillopt_cli.benchmarks.kit.options import read_options
from skillopt_cli.benchmarks.kit.ratio import BY_KIND, BY_LABEL
from skillopt_cli.benchmarks.kit.records import Record, read_records, single_file
from skillopt_cli.benchmarks.kit.scorers import ScorerName, make_scorer
from skillopt_cli.benchmarks.kit.splits import split_files, squeezed
from skillopt_cli.core.errors import Undetermined
from skillopt_cli.core.formatting import count
from skillopt_cli.core.labels import TaskAnswers, find_labels, folded
from skillopt_cli.ports import BenchmarkRequest, Inference, Inferred

RATIO = "2:1:1"
LABELLED = 0.9
"""Share of the tasks that labels must answer, for all answers to be labels."""
FEW_NUMBERS = 10
"""Numbers that a label set has at most; more are counts or amounts."""
LONGEST_ANSWER = 12
"""Words of a usual answer from which on texts are hardly ever equal."""
_WORD = 8
"""Characters of a long word, for text that is written without spaces."""
_MOST_FIELDS = 30
_RECURS = 4
"""Tasks of a kind that every split of `RATIO` can have its share of."""


def infer(request: BenchmarkRequest) -> Inference:
    """The settings that the tasks of a request determine, and the columns that are not used.

    Raises:
        ConfigError: an option names a column that does not exist.
        DataError: a file cannot be read, or a task has no answer.
        Undetermined: there is more than one reading.
    """
    options = read_options(FolderOptions, request.options, "folder")
    records = [uniform(record, options) for record in _records(request)]
    if not records:
        return Inference()
    found: dict[str, Inferred] = {}
    columns = read_columns(records, str(request.split_dir or request.data_path))
    context = context_column(columns, options)
    refuse_one_column(options)
    answer = answer_column(columns, options) if request.scored else Choice("")
    prompt = prompt_column(columns, options, answer.name)
    own_id = id_column(columns, options, (prompt.name, answer.name, context))
    for key, column, usual in (
        ("answer_key", answer, ("", *ANSWER_KEYS)),
        ("prompt_key", prompt, PROMPT_KEYS),
        ("id_key", own_id, ("", "id")),
    ):
        if column.name not in usual:
            found[key] = Inferred(column.name, column.why)
    chosen = options.model_copy(update={"prompt_key": prompt.name, "answer_key": answer.name})
    cells = (needed_cells(record, chosen, scored=request.scored) for record in records)
    refuse_empty_cells([cell for found_in in cells for cell in found_in])
    refuse_missing(records, prompt.name, "add it, or remove the records")
    if request.scored:
        if answer.name:
            refuse_missing(records, answer.name, UNANSWERED)
        found |= _from_answers(request, records, prompt.name, answer.name, context)
    scorer = request.options.get("scorer") or (found["scorer"].value if request.scored else "")
    fields = {"kind", "choices"} | ({"pattern"} if scorer == "regex" else set())
    used = fields | {answer.name, prompt.name, context, own_id.name}
    unused = unused_words(columns, used, context, named=bool(own_id.name))
    doubt = other_answer(columns, answer.name, used) if options.answer_key else ""
    return Inference(found, "; ".join(part for part in (unused, doubt) if part))


def _from_answers(
    request: BenchmarkRequest, records: Sequence[Record], prompt: str, answer: str, context: str
) -> dict[str, Inferred]:
    """What the answers determine: the scorer, how the file is cut, and the seed skill."""
    found: dict[str, Inferred] = {}
    answers = _answers(records, answer)
    labels = _labels(answers)
    if "scorer" not in request.options:
        found["scorer"] = _scorer(records, answers, labels)
    scorer = request.options.get("scorer") or found["scorer"].value
    if request.split_dir is None:
        ratio = f"{RATIO}{BY_LABEL}" if labels else RATIO
        asked = [prompt, context, "choices"]
        asked += {"regex": ["pattern"], "judge": [answer]}.get(scorer, [])
        half = f"{count(_different(records, asked), 'task')}, half to train on"
        found["split_ratio"] = Inferred(ratio, half + ("" if labels else _by_kind(records)))
    if seed := _seed_skill(prompt, answer, scorer, answers, labels):
        found["seed_skill"] = seed
    return found


def _records(request: BenchmarkRequest) -> Iterator[Record]:
    if request.split_dir is not None:
        paths: list[Path] = list(split_files(request.split_dir).values())
    else:
        paths = [single_file(request.data_path or Path())]
    for path in paths:
        yield from read_records(path)


def _different(records: Sequence[Record], keys: Sequence[str]) -> int:
    """How many tasks are left of a file that is cut, which does without repeated ones."""
    return len({squeezed(str(record.data.get(key)) for key in keys) for record in records})


def _by_kind(records: Sequence[Record]) -> str:
    """That the splits could have equal shares of kinds, where most tasks are of one that recurs."""
    kinds = Counter(record.kind("") for record in records)
    recurring = [n for kind, n in kinds.items() if kind and n >= _RECURS]
    if len(recurring) < 2 or sum(recurring) < LABELLED * len(records):
        return ""
    return f"; `{RATIO}{BY_KIND}` gives each split its share of {len(recurring)} kinds"


def _answers(records: Sequence[Record], key: str) -> list[tuple[str, ...]]:
    """The references of each task; none where only patterns count.

    Raises:
        DataError: a task has none.
    """
    scorer: ScorerName = "json" if key else "regex"  # it takes objects as well as texts
    options = FolderOptions(answer_key=key, scorer=scorer)
    return [references(record, options) for record in records]


def _labels(answers: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The label set, where the answers are one; numbers are one only where they are few."""
    tasks = [TaskAnswers(str(n), texts) for n, texts in enumerate(answers)]
    labels = find_labels(tasks)
    covered = sum(labels.label_of(texts) is not None for texts in answers)
    if not labels.names or covered < LABELLED * len(answers):
        return ()
    if len(labels.names) > FEW_NUMBERS and all(map(is_amount, labels.names)):
        return ()
    return () if any(map(read_object, labels.names)) else labels.names


def _scorer(
    records: Sequence[Record], answers: Sequence[tuple[str, ...]], labels: tuple[str, ...]
) -> Inferred:
    """The scorer.

    Raises:
        Undetermined: more than one would do.
    """
    texts = [text for several in answers for text in several]
    with_choices = sum(record.data.get("choices") is not None for record in records)
    if with_choices == len(records):
        return Inferred("choice", "each task has choices")
    if with_choices:
        raise _ask(f"{with_choices} of {count(len(records), 'task')} have `choices`", "f1", "exact")
    if not texts:
        return Inferred("regex", "each task has a pattern")
    if all(record.data.get("pattern") is not None for record in records):
        raise _ask("the tasks have answers and a `pattern`", "regex", "f1", "exact")
    if 2 * sum(read_object(text) is not None for text in texts) > len(texts):
        return Inferred("json", "answers are JSON objects")
    numbers = sum(map(is_amount, texts))
    if numbers == len(texts):
        return Inferred("numeric", "answers are numbers")
    if labels:
        others = {folded(text) for text in texts} - {folded(name) for name in labels}
        times = "occurs" if len(others) == 1 else "occur"
        rare = f"; {len(others)} more {times} once" if others else ""
        spellings = len({" ".join(text.split()) for text in texts})
        if spellings > len({folded(text) for text in texts}):
            return Inferred("f1", f"{len(labels)} labels, some spelt in several ways{rare}")
        return Inferred("exact", f"answers are {len(labels)} labels{rare}")
    if 2 * numbers > len(texts):
        other = next(text for text in texts if not is_amount(text))
        raise _ask(
            f"{numbers} of {len(texts)} answers are numbers, `{other[:40]}` is none", "exact", "f1"
        )
    return _text_scorer(texts)


def _text_scorer(texts: Sequence[str]) -> Inferred:
    usual = median(max(len(text.split()), len(text) / _WORD) for text in texts)
    if usual > LONGEST_ANSWER:
        raise Undetermined(
            f"the answers are long, {count(round(usual), 'word')} usually, and hardly any two"
            " texts of that length are equal",
            "let a model compare them with `env.scorer=judge`, or words with `env.scorer=f1`",
            key="env.scorer",
            readings=("judge", "f1", "contains"),
        )
    f1 = make_scorer("f1")
    if any(f1.check({"answers": (text,)}) for text in texts):
        return Inferred("exact", "some answers are signs without a word")
    return Inferred("f1", "answers are short texts")


def _ask(what: str, likely: ScorerName, *others: ScorerName) -> Undetermined:
    return Undetermined(
        f"it is unclear how to score: {what}",
        f"name the scorer, such as `env.scorer={likely}`",
        key="env.scorer",
        readings=(likely, *others),
    )


def _seed_skill(
    prompt: str,
    answer: str,
    scorer: str,
    answers: Sequence[tuple[str, ...]],
    labels: tuple[str, ...],
) -> Inferred | None:
    """A seed skill that names what is asked for, where the tasks themselves may not."""
    named = answer if answer not in ("", *ANSWER_KEYS) else ""
    noun = " ".join(named.replace("_", " ").split())
    if labels and scorer not in ("choice", "json", "regex"):
        asked = f"Give the {noun} of the text" if noun else "Answer with one of these"
        listed = "".join(f"- {label}\n" for label in labels)
        return _seed(f"{asked}{', one of' if noun else ''}:\n\n{listed}", "names the labels")
    if scorer == "json" and (fields := _fields(answers)):
        listed = ", ".join(fields)
        return _seed(f"Give a JSON object with the fields {listed}.\n", "names the fields")
    if noun and prompt not in PROMPT_KEYS:
        return _seed(f"Give the {noun} of the text.\n", "names the answer")
    return None


def _seed(text: str, why: str) -> Inferred:
    return Inferred(f"# Task\n\n{text}", why)


def _fields(answers: Sequence[tuple[str, ...]]) -> list[str]:
    """The fields that at least half of the objects have, in the order they first come in."""
    objects = [read_object(several[0]) or {} for several in answers]
    counted = Counter(name for value in objects for name in value)
    common = [name for name, times in counted.items() if 2 * times >= len(objects)]
    return common if len(common) <= _MOST_FIELDS else []
