"""Records of task files as the fields that their options name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from skillopt_cli.benchmarks.folder.options import FolderOptions
from skillopt_cli.benchmarks.kit.empty_cells import EmptyCell, empty_cells, places
from skillopt_cli.benchmarks.kit.json_fields import object_text
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.core.errors import ConfigError, DataError

PROMPT_KEYS = ("prompt", "question")
ANSWER_KEYS = ("answer", "answers", "reference")
OPTIONAL_KEYS = ("id", "context", "kind", "choices", "pattern")
_KNOWN = {*PROMPT_KEYS, *ANSWER_KEYS, *OPTIONAL_KEYS}
UNANSWERED = (
    "training and evaluation need answers; `skillopt answer` applies a skill to tasks without them"
)
_NAMED = 8
"""Keys of a record that a message names."""


def uniform(record: Record, options: FolderOptions) -> Record:
    """The record with `question` for `Question` and the like, and plain lists of texts.

    Names that the options give stay.
    """
    taken = (options.prompt_key, options.answer_key, options.context_key, options.id_key)
    data = dict(record.data)
    for name in list(data):
        known = name.strip().casefold()
        if known in _KNOWN and known not in data and name not in taken:
            data[known] = data.pop(name)
    # SQuAD, ARC and others have the texts in a list beside their places or letters.
    for key in ("answers", "choices"):
        held = data.get(key)
        if isinstance(held, dict) and isinstance(held.get("text"), list):
            data[key] = data[key] if options.scorer == "json" else held["text"]
    return replace(record, data=data)


def refuse_one_column(options: FolderOptions) -> None:
    """Refuse options that show the answer with the task.

    Raises:
        ConfigError: task text or context and answer have the same name.
    """
    for key in ("prompt_key", "context_key"):
        if options.answer_key and getattr(options, key) == options.answer_key:
            raise ConfigError(
                f"`env.{key}` and `env.answer_key` both name `{options.answer_key}`, so that each"
                " task would show its answer",
                "name another one for one of the two",
            )


def needed_cells(record: Record, options: FolderOptions, *, scored: bool = True) -> list[EmptyCell]:
    """The empty cells of a row that its task needs.

    Those below task text and reference, below an id that the options name, and below choices where
    these are scored. References count only where tasks need them.
    """
    needed: list[Sequence[str]] = [(options.prompt_key,) if options.prompt_key else PROMPT_KEYS]
    if options.id_key:
        needed.append((options.id_key,))
    if scored and (options.answer_key or options.scorer != "regex"):
        needed.append((options.answer_key,) if options.answer_key else ANSWER_KEYS)
    if options.scorer == "choice":
        needed.append(("choices",))
    return empty_cells(record, needed)


def refuse_missing(records: Sequence[Record], key: str, hint: str) -> None:
    """Refuse records without a field that each task needs, naming the first ten of each file.

    Rows of tables have every column; their empty cells are refused on their own.

    Args:
        hint: what to do where no other field of these records has nearly that name.

    Raises:
        DataError: there is one.
    """
    lacking = [r for r in records if not r.in_table and r.data.get(key) is None]
    if not lacking:
        return
    usual = {name for r in records if r.data.get(key) is not None for name in r.data}
    others = {name for r in lacking for name in r.data} - usual
    near = get_close_matches(key, sorted(others), n=1)
    rows: dict[Path, list[int]] = {}
    for record in lacking:
        rows.setdefault(record.path, []).append(record.number)
    listed = "; ".join(places(path, numbers) for path, numbers in rows.items())
    raise DataError(
        f"{listed}: `{key}` is missing",
        f"did you mean `{key}` by `{near[0]}`?" if near else hint,
    )


def references(record: Record, options: FolderOptions) -> tuple[str, ...]:
    """The references of a record, objects as JSON; none where only its pattern counts.

    Raises:
        DataError: there is none, or it has no form that the scorer compares.
    """
    present = [key for key in ANSWER_KEYS if record.data.get(key) is not None]
    if options.scorer == "regex" and not options.answer_key and not present:
        return ()
    key = options.answer_key or only_key(record, ANSWER_KEYS, "answer_key")
    if key not in record.data:
        fault = f"`{key}` is missing, which `env.answer_key` names"
        raise record.fault(fault, _fields_hint(record, "answer_key"))
    value = record.data[key]
    values = value if isinstance(value, list) else [value]
    if not any(isinstance(one, dict) for one in values):
        return record.texts(key)
    if options.scorer != "json":
        raise record.fault(f"`{key}` is an object, not text", "set env.scorer=json to compare it")
    texts = [object_text(one) if isinstance(one, dict) else one for one in values]
    return replace(record, data={**record.data, key: texts}).texts(key)


def check_named(record: Record, options: FolderOptions) -> None:
    """Refuse a table without a column that the options name for task text, context or id.

    Raises:
        ConfigError: it has no such column.
    """
    for option in ("prompt_key", "context_key", "id_key") if record.in_table else ():
        name = getattr(options, option)
        if name and name not in record.data:
            raise unknown_column(f"{record.path} has no column", list(record.data), name, option)


def unknown_column(
    place: str, names: Sequence[str], name: str, option: str, first: str = ""
) -> ConfigError:
    """The error of a column that an option names and that tasks do not have.

    Args:
        place: what has none, such as `tasks.csv has no column`.
        names: of the columns there are.
        first: what else to do, before the hint.
    """
    near = difflib.get_close_matches(name.casefold(), names, n=1)
    meant = (
        f"did you mean `env.{option}={near[0]}`?"
        if near
        else f"if one of {listed(names)} is meant, name it with `env.{option}=NAME`"
    )
    return ConfigError(f"`env.{option}`: {place} `{name}`; it has {listed(names)}", first + meant)


def listed(names: Iterable[str]) -> str:
    """Names for a message."""
    return ", ".join(f"`{name}`" for name in names)


def only_key(record: Record, keys: Sequence[str], option: str) -> str:
    """The one of these keys that a record holds; `option` names it where that is unclear.

    Raises:
        DataError: it holds none of them, or several.
    """
    present = [key for key in keys if record.data.get(key) is not None]
    if len(present) == 1:
        return present[0]
    if present:
        found = " and ".join(f"`{key}`" for key in present)
        raise record.fault(f"holds {found}", f"set env.{option} to the one that counts")
    if blank := next((key for key in keys if key in record.data), ""):
        raise record.fault(f"`{blank}` is empty")
    wanted = " or ".join(f"`{key}`" for key in keys)
    first = "the first row has to name the columns; " if record.in_table else ""
    raise record.fault(f"{wanted} is missing", first + _fields_hint(record, option))


def _fields_hint(record: Record, option: str) -> str:
    """What to do where a record lacks the field of an option: name another one that it has."""
    held = listed(list(record.data)[:_NAMED]) or "no key"
    unanswered = f"; {UNANSWERED}" if option == "answer_key" else ""
    meant = f"if one of these is meant, name it with `env.{option}=NAME`"
    return f"the record has {held}; {meant}{unanswered}"
