"""The columns of a task file: which one holds the task text, and which one the answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from skillopt_cli.benchmarks.folder.moments import is_moment
from skillopt_cli.benchmarks.folder.options import FolderOptions
from skillopt_cli.benchmarks.folder.tasks import (
    ANSWER_KEYS,
    OPTIONAL_KEYS,
    PROMPT_KEYS,
    UNANSWERED,
    listed,
    unknown_column,
)
from skillopt_cli.benchmarks.kit.numbers import is_amount
from skillopt_cli.benchmarks.kit.records import Record, scalar_text
from skillopt_cli.core.errors import Undetermined
from skillopt_cli.core.labels import TASKS_PER_LABEL

ANSWER_NAMES = (
    *("label", "labels", "category", "class", "output", "target", "gold", "ground_truth"),
    *("expected", "expected_output", "expected_answer", "correct_answer", "solution"),
    *("completion", "response"),
)
"""Names that columns of answers usually have, beside ours."""
PROMPT_NAMES = (
    *("text", "input", "instruction", "query", "problem", "task"),
    *("body", "message", "content", "sentence", "document"),
)
"""Names that columns of task texts usually have, beside ours."""
_IDENTIFIER = re.compile(
    r"(?:.*[_ -])?(?:id|uuid|guid|idx|index|no|nr|number|row)|(?-i:.*[a-z0-9]I[Dd])", re.IGNORECASE
)
_CODE = re.compile(r"([^\W\d]+[-_#/]?)\d+")
"""A value such as T051 or ORD-7: letters that all ids of a table share, and a number."""
_NAMED = 8
"""Columns that are not used and that a line names."""
_PROSE = 4
"""Words of a usual cell from which on a column holds prose."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a task file, apart from its blank cells.

    Attributes:
        words: in a usual cell.
        varied: whether most cells differ from all others.
        is_text: whether most cells are neither numbers nor blank.
        filled: whether no cell is blank.
        recurs: whether it holds few values that recur, as labels do.
        unique: whether it holds a text or a whole number of its own for each task.
        of_moments: whether every cell is a date or a time.
        repeated: a text that several cells hold, if there is one.
        of_codes: whether every cell is the same letters and a number, such as T051.
        named_by_data: whether its name is a date, or what a cell below it holds, as where a table
            has no row of names.
    """

    name: str
    words: float
    varied: bool
    is_text: bool
    filled: bool
    recurs: bool
    unique: bool
    of_moments: bool
    repeated: str
    of_codes: bool
    named_by_data: bool

    @property
    def named_id(self) -> bool:
        """Whether its name ends as those of ids do, such as `orderid` and, by chance, `paid`."""
        return self.name.casefold().endswith("id")

    @property
    def no_ids(self) -> str | None:
        """Why the cells are no ids of tasks: "" where they are, None where none are looked for.

        They are by the name of the column, or by codes that hardly any two tasks have in common.
        """
        coded = self.of_codes and self.varied
        if self.unique and (coded or self.named_id):
            return ""
        if not coded and not (self.named_id and _IDENTIFIER.fullmatch(self.name)):
            return None
        if self.repeated:
            return f"several have `{self.repeated[:40]}`"
        return None if self.filled else "some have none"

    @property
    def prose(self) -> bool:
        """Whether it holds sentences, rather than names, labels or amounts."""
        return self.is_text and self.varied and self.words >= _PROSE


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a task file.

    Attributes:
        place: the file or folder, for messages.
        word: what a column is called in a file of this kind.
    """

    place: str
    word: str
    by_name: Mapping[str, Column]

    @property
    def free(self) -> list[str]:
        """Those that may be task text or answer by inference.

        No identifier, none of our own fields, and no dates or times: these are when a row came.
        """
        return [
            name
            for name, column in self.by_name.items()
            if not (name in OPTIONAL_KEYS or _IDENTIFIER.fullmatch(name) or column.of_moments)
        ]

    def check(self, name: str, option: str) -> None:
        """Refuse a name that an option gives and that no column has.

        Raises:
            ConfigError: there is no such column.
        """
        if name not in self.by_name:
            place = f"{self.place} has no {self.word}"
            raise unknown_column(place, list(self.by_name), name, option, self._no_names())

    def _no_names(self) -> str:
        """What to do where the first row of a table looks like one of data; "" elsewhere."""
        if self.word != "column" or not any(c.named_by_data for c in self.by_name.values()):
            return ""
        return (
            "the first row has to name the columns and looks like data: add a row of names above"
            " it; otherwise "
        )

    def unclear(self, what: str, option: str, names: Sequence[str]) -> Undetermined:
        """The error of a column that only the user can name; the likeliest comes first."""
        key = f"env.{option}"
        rank = _answer_rank if option == "answer_key" else _prompt_rank
        names = sorted(names, key=lambda name: rank(self.by_name[name]))
        labelled = option != "answer_key" or any(self.by_name[name].recurs for name in names)
        unanswered = "" if labelled else f"; {UNANSWERED}"
        if not names:
            return Undetermined(
                f"{self.place}: no {self.word} can be the {what} among {listed(self.by_name)}",
                f"{self._no_names()}add one, or name it with `{key}=NAME`{unanswered}",
                key=key,
                readings=tuple(self.by_name),
            )
        return Undetermined(
            f"{self.place}: it is unclear which {self.word} is the {what}: {listed(names)}",
            f"{self._no_names()}name it, such as `{key}={names[0]}`{unanswered}",
            key=key,
            readings=names,
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """A column that was chosen, and why."""

    name: str
    why: str = ""


def read_columns(records: Sequence[Record], place: str) -> Columns:
    """The columns that are not blank, in the order they first come in."""
    cells: dict[str, list[Any]] = {}
    n = len(records)
    for record in records:
        for name, value in record.data.items():
            if value not in (None, "", []):
                cells.setdefault(name, []).append(value)
    word = "column" if records[0].in_table else "field"
    return Columns(place, word, {name: _column(name, held, n) for name, held in cells.items()})


def answer_column(columns: Columns, options: FolderOptions) -> Choice:
    """The column of the answers; without a name where only patterns count.

    Raises:
        ConfigError: the option names none.
        Undetermined: it is unclear.
    """
    if options.answer_key:
        columns.check(options.answer_key, "answer_key")
        return Choice(options.answer_key)
    if own := [name for name in ANSWER_KEYS if name in columns.by_name]:
        return _only(columns, own, "answer", "answer_key", "")
    taken = (*PROMPT_KEYS, options.prompt_key, options.context_key)
    free = [name for name in columns.free if name not in taken]
    if "pattern" in columns.by_name and options.scorer in ("regex", "exact"):
        return Choice("")
    if likely := [name for name in free if name.casefold() in ANSWER_NAMES]:
        return _only(columns, likely, "answer", "answer_key", "named like one")
    prompts = [n for n in columns.by_name if n in (*PROMPT_KEYS, options.prompt_key)]
    prompts = prompts or _likely_prompts(columns, free)
    others = [name for name in free if name not in prompts]
    if prompts and len(others) == 1:
        return Choice(others[0], "the only one left")
    raise columns.unclear("answer", "answer_key", others or (free if len(free) > 1 else ()))


def prompt_column(columns: Columns, options: FolderOptions, answer: str) -> Choice:
    """The column of the task texts.

    Raises:
        ConfigError: the option names none.
        Undetermined: it is unclear.
    """
    if options.prompt_key:
        columns.check(options.prompt_key, "prompt_key")
        return Choice(options.prompt_key)
    if own := [name for name in PROMPT_KEYS if name in columns.by_name]:
        return _only(columns, own, "task text", "prompt_key", "")
    taken = (answer, options.context_key)
    free = [n for n in columns.free if n not in taken and columns.by_name[n].is_text]
    likely = _likely_prompts(columns, free)
    if len(likely) == 1:
        return Choice(likely[0], "the only text" if len(free) == 1 else "the only long text")
    raise columns.unclear("task text", "prompt_key", likely or (free if len(free) > 1 else ()))


def id_column(columns: Columns, options: FolderOptions, taken: Iterable[str]) -> Choice:
    """The column of the ids of the tasks; without a name where ids are made of the content.

    Args:
        taken: the columns of task text and answer.

    Raises:
        ConfigError: the option names none.
    """
    if options.id_key:
        columns.check(options.id_key, "id_key")
        return Choice(options.id_key)
    if "id" in columns.by_name:
        return Choice("id")
    free = [name for name in columns.by_name if name not in (*taken, *OPTIONAL_KEYS)]
    if ids := [name for name in free if columns.by_name[name].no_ids == ""]:
        named = (name for name in ids if columns.by_name[name].named_id)
        return Choice(next(named, ids[0]), "no two tasks have the same")
    return Choice("")


def context_column(columns: Columns, options: FolderOptions) -> str:
    """The column of the texts that are shown with the tasks; "" where there is none.

    Raises:
        ConfigError: the option names none.
    """
    if options.context_key:
        columns.check(options.context_key, "context_key")
    named = options.context_key or "context"
    return named if named in columns.by_name else ""


def unused_words(columns: Columns, used: Iterable[str], context: str, *, named: bool) -> str:
    """What is not used, with how one of it is shown with the tasks; "" where all are used.

    Args:
        context: the column that is shown with the tasks, if there is one.
        named: whether a column holds the ids of the tasks, so that others need not.
    """
    unused = [name for name in columns.by_name if name not in used]
    if not unused:
        return ""
    more = f", ... ({len(unused)} in all)" if len(unused) > _NAMED else ""
    shown = [name if named else name + _no_ids(columns.by_name[name]) for name in unused[:_NAMED]]
    words = ", ".join(shown) + more
    texts = [name for name in columns.free if name in unused and columns.by_name[name].is_text]
    if context or not texts:
        return f"not used: {words}"
    likely = max(texts, key=lambda name: columns.by_name[name].words)
    return f"not used: {words} (`env.context_key={likely}` shows it with each task)"


def other_answer(columns: Columns, answer: str, used: Iterable[str]) -> str:
    """That the answers look like ids, or hardly recur while another column has labels; else "".

    Args:
        answer: the column of the answers, which an option names.
        used: all columns that are used.
    """
    named = columns.by_name.get(answer)
    if named is None:
        return ""
    labels = [name for name in columns.free if name not in used and columns.by_name[name].recurs]
    meant = f" (`env.answer_key={labels[0]}` if the answers are there)" if labels else ""
    if named.unique and (_IDENTIFIER.fullmatch(answer) or named.no_ids == ""):
        return (
            f"warning: no two tasks have the same `{answer}`, the answer, and the {columns.word}"
            f" looks like one of ids{meant}"
        )
    if not labels or not (named.varied and named.is_text):
        return ""
    return (
        f"warning: hardly any two tasks have the same `{answer}`, the answer, while `{labels[0]}`"
        f" holds few values, as labels are (`env.answer_key={labels[0]}` if these are meant)"
    )


def _no_ids(column: Column) -> str:
    """Why a column that ids are looked for in holds none of tasks; "" for any other."""
    return f" (no ids of tasks: {column.no_ids})" if column.no_ids else ""


def _likely_prompts(columns: Columns, names: Sequence[str]) -> list[str]:
    """The columns of prose, else the one named like a task text, else the only one.

    That must differ from task to task, or else it is no task.
    """
    prose = [name for name in names if columns.by_name[name].prose]
    named = [name for name in names if name.casefold() in PROMPT_NAMES]
    if prose or len(named) == 1:
        return prose or named
    return [name for name in names if len(names) == 1 and columns.by_name[name].varied]


def _only(columns: Columns, names: Sequence[str], what: str, option: str, why: str) -> Choice:
    if len(names) > 1:
        raise columns.unclear(what, option, names)
    return Choice(names[0], why)


def _column(name: str, cells: Sequence[Any], records: int) -> Column:
    texts = [scalar_text(cell) for cell in cells]
    numbers = sum(map(is_amount, texts))
    times = Counter(texts)
    values = len(times)
    return Column(
        name,
        words=fmean(len(text.split()) for text in texts),
        varied=values > len(texts) / 2,
        is_text=2 * sum(map(bool, texts)) > len(texts) and 2 * numbers < len(texts),
        filled=len(cells) == records,
        recurs=all(texts) and 1 < values <= len(texts) / TASKS_PER_LABEL,
        unique=all(texts) and values == records and not any(isinstance(c, float) for c in cells),
        of_moments=all(map(is_moment, texts)),
        repeated=next((text for text, n in times.items() if text and n > 1), ""),
        of_codes=_are_codes(texts),
        named_by_data=name in times or is_moment(name),
    )


def _are_codes(texts: Iterable[str]) -> bool:
    found = [_CODE.fullmatch(text) for text in texts]
    return len({match and match[1] for match in found}) == 1 and None not in found


def _answer_rank(column: Column) -> tuple[bool, bool, bool]:
    """Orders candidates for the answer: label-like ones first, codes last, blank cells late."""
    return column.of_codes, not column.recurs, not column.filled


def _prompt_rank(column: Column) -> tuple[bool, float]:
    """Orders candidates for the task text: those without a blank cell first, then longer ones."""
    return not column.filled, -column.words
