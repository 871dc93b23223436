"""Splits: which tasks are for training, for the gate and for the test, and where they came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from os.path import normpath
from pathlib import Path

from skillopt_cli.benchmarks.kit.empty_cells import EmptyCell, refuse_empty_cells
from skillopt_cli.benchmarks.kit.ratio import (
    BY_KIND,
    BY_LABEL,
    hash_order,
    label_order,
    parse_ratio,
    ratio_counts,
)
from skillopt_cli.benchmarks.kit.records import (
    ENDINGS,
    LeftOut,
    Record,
    read_records,
    single_file,
    task_files,
)
from skillopt_cli.benchmarks.kit.repeats import TaskFile, leave_out_repeats, refuse_repeats
from skillopt_cli.core.errors import ConfigError, DataError, UsageError
from skillopt_cli.core.formatting import count
from skillopt_cli.core.task import SPLITS, Split, Task
from skillopt_cli.ports import BenchmarkRequest

MANIFEST = "split_manifest.json"
FOLDERS: Mapping[Split, tuple[str, ...]] = {
    "train": ("train",),
    "selection": ("selection", "val"),
    "test": ("test",),
}
_LAYOUT = "a split folder holds train/, selection/ (or val/) and test/, each with a task file"


@dataclass(frozen=True, slots=True)
class TaskFormat:
    """How a benchmark reads tasks.

    Attributes:
        make: a record as a task; raises DataError through `Record.fault`, or `LeftOut`.
        content: question and references in one text; equal texts in two splits are leakage.
        pattern: names of the task files in a folder given as `data_path`, which are looked for in
            its folders too; empty where it must hold a single task file.
        label: what a ratio "by label" spreads evenly over the splits.
        empty: the cells of a row that its task needs and that are empty.
        asked: all that a target is shown of a task, in one text. Of a file that is cut, tasks that
            ask what an earlier one asks are left out; "" leaves none out.
        contradiction: the answers of two tasks that ask the same, where these differ, such as
            "`a` and `b`"; "" where they agree.
    """

    make: Callable[[Record], Task]
    content: Callable[[Task], str]
    pattern: str = ""
    label: Callable[[Task], str] = lambda task: task.kind
    empty: Callable[[Record], Sequence[EmptyCell]] = lambda record: ()
    asked: Callable[[Task], str] = lambda task: ""
    contradiction: Callable[[Task, Task], str] = lambda one, other: ""


@dataclass(frozen=True, slots=True)
class Splits:
    """The tasks of the three splits, and one line on their source.

    None is empty but where a file with fewer tasks than splits is cut.

    Attributes:
        left_out: how many records a run does without, by reason.
        uncut: the source without how a file is cut; empty where none is.
    """

    source: str
    tasks: Mapping[Split, tuple[Task, ...]]
    left_out: Mapping[str, int] = field(default_factory=dict)
    uncut: str = ""

    def of(self, split: str) -> tuple[Task, ...]:
        """The tasks of a split.

        Raises:
            UsageError: there is no split of this name.
        """
        for name, tasks in self.tasks.items():
            if name == split:
                return tasks
        raise UsageError(f"there is no split `{split}`", f"the splits are {', '.join(SPLITS)}")


def load_splits(
    request: BenchmarkRequest, name: str, form: TaskFormat, sample: Path | None = None
) -> Splits:
    """The tasks a run works on.

    Taken from the first of: `split_dir`, `data_path` cut by ratio, what `skillopt data prepare` put
    under `data_root/<name>`, the bundled `sample`. Files are streamed: no text is kept beside the
    tasks.

    Raises:
        DataError: a file or record is unusable, or there is no task.
        RepeatedTasks: an id occurs twice, two splits share a task, or tasks contradict one another.
        ConfigError: nothing was given to read, or the ratio is malformed.
    """
    if request.split_dir is not None:
        splits = _from_folder(request.split_dir, shown_path(request.split_dir), form)
    elif request.data_path is not None:
        splits = _from_file(request, form)
    elif (prepared := _prepared(request.data_root / name, name)) is not None:
        splits = _from_folder(prepared, shown_path(prepared), form)
    elif sample is not None:
        splits = _from_folder(sample, "bundled sample", form)
    else:
        raise ConfigError(
            f"the {name} benchmark was given no tasks",
            "set env.split_dir to a folder of splits, or env.data_path to a task file",
        )
    tasks = splits.tasks
    if request.limit:
        tasks = {split: tasks[split][: request.limit] for split in SPLITS}
    counts = " / ".join(f"{len(tasks[split])} {split}" for split in SPLITS)
    if not request.scored:
        counts = count(len(tasks["test"]), "task")
    left_out = f"; {words}" if (words := _left_out_words(splits.left_out)) else ""
    total = count(sum(map(len, tasks.values())), "task")
    uncut = f"{splits.uncut} ({total}{left_out})" if splits.uncut else ""
    return Splits(f"{splits.source} ({counts}{left_out})", tasks, splits.left_out, uncut)


def _left_out_words(left_out: Mapping[str, int]) -> str:
    by_number = sorted(left_out.items(), key=lambda reason: (-reason[1], reason[0]))
    if len(by_number) == 1:
        ((reasons, _),) = by_number
    else:
        reasons = ", ".join(f"{n} {why}" for why, n in by_number)
    return f"{count(sum(left_out.values()), 'record')} left out: {reasons}" if reasons else ""


def shown_path(path: Path) -> str:
    """A path without detours, relative to the working folder where it is below that."""
    straight = Path(normpath(path.absolute()))
    if straight.resolve() != path.resolve():
        return str(path)  # a detour through a link leads elsewhere
    here = Path.cwd()
    return str(straight.relative_to(here)) if here in straight.parents else normpath(path)


def split_files(folder: Path) -> dict[Split, Path]:
    """The task file of each split: the first by name in its folder.

    Raises:
        DataError: a split's folder or file is missing, or selection/ and val/ both exist.
    """
    if not folder.is_dir():
        fault = "is no folder" if folder.exists() else "does not exist"
        raise DataError(
            f"the split folder {folder.absolute()} {fault}",
            f"{_LAYOUT}; if it was moved, name its place with `env.split_dir=FOLDER`",
        )
    files: dict[Split, Path] = {}
    for split in SPLITS:
        found = [folder / name for name in FOLDERS[split] if (folder / name).is_dir()]
        if not found:
            wanted = "/ or ".join(FOLDERS[split])
            raise DataError(f"{folder} has no {wanted}/", _LAYOUT)
        if len(found) > 1:
            raise DataError(f"{folder} has both selection/ and val/", "keep one of them")
        candidates = task_files(found[0])
        if not candidates:
            raise DataError(f"{found[0]} holds no task file ({ENDINGS})", _LAYOUT)
        files[split] = candidates[0]
    return files


def squeezed(parts: Iterable[str]) -> str:
    """The parts as one text for `TaskFormat.content`, whatever their case and spacing."""
    return "\0".join(" ".join(part.split()) for part in parts).casefold()


def _read(path: Path, form: TaskFormat) -> TaskFile:
    file = TaskFile(path)
    empty: list[EmptyCell] = []
    for record in read_records(path, file.notes.append):
        if cells := form.empty(record):
            empty += cells
            continue
        try:
            file.tasks.append(form.make(record))
        except LeftOut as reason:
            file.left_out[reason.why] += 1
        else:
            file.numbers.append(record.number)
    refuse_empty_cells(empty)
    return file


def _filled(file: TaskFile) -> TaskFile:
    if not file.tasks:
        raise DataError(f"{file.path} holds no tasks", _left_out_words(file.left_out))
    return file


def _from_folder(folder: Path, source: str, form: TaskFormat) -> Splits:
    files = {split: _filled(_read(path, form)) for split, path in split_files(folder).items()}
    tasks = {split: tuple(file.tasks) for split, file in files.items()}
    refuse_repeats(tasks, form, list(files.values()))
    about = source + _read_how(list(files.values()))
    return Splits(about, tasks, _left_out(list(files.values())))


def _read_how(files: Sequence[TaskFile]) -> str:
    notes = dict.fromkeys(note for file in files for note in file.notes)
    return f" ({', '.join(notes)})" if notes else ""


def _left_out(files: Sequence[TaskFile]) -> Mapping[str, int]:
    return sum((file.left_out for file in files), Counter())


def _from_file(request: BenchmarkRequest, form: TaskFormat) -> Splits:
    weights = parse_ratio(request.split_ratio)
    path = request.data_path or Path()
    files = [_read(file, form) for file in _task_files(path, form.pattern)]
    if len(files) == 1:
        _filled(files[0])  # one of many may be empty
    if request.scored:
        leave_out_repeats(files, form)
    tasks = [task for file in files for task in file.tasks]
    refuse_repeats({"train": tasks}, form, files)
    place = files[0].path if len(files) == 1 else path
    if not request.scored:
        whole: dict[Split, tuple[Task, ...]] = {"train": (), "selection": (), "test": tuple(tasks)}
        return Splits(f"{shown_path(place)}{_read_how(files)}", whole, _left_out(files))
    shared: dict[str, Callable[[Task], str]] = {BY_LABEL: form.label, BY_KIND: lambda t: t.kind}
    of = next((of for end, of in shared.items() if request.split_ratio.endswith(end)), None)
    cut = _cut(tasks, weights, request.split_seed, of)
    refuse_repeats(cut, form, files)
    how = f"cut {request.split_ratio}, seed {request.split_seed}"
    source = f"{shown_path(place)}{_read_how(files)}"
    return Splits(f"{source} {how}", cut, _left_out(files), source)


def _task_files(path: Path, pattern: str) -> list[Path]:
    found = sorted(path.rglob(pattern)) if pattern and path.is_dir() else []
    return found or [single_file(path)]


def _cut(
    tasks: Sequence[Task],
    weights: Sequence[int],
    seed: int,
    label: Callable[[Task], str] | None = None,
) -> dict[Split, tuple[Task, ...]]:
    """Consecutive parts of the hash order: the order within a split, too, is not the file's."""
    if label:
        order = iter(label_order(tasks, seed, lambda task: task.id, label))
    else:
        order = iter(hash_order(tasks, seed, lambda task: task.id))
    counts = ratio_counts(len(tasks), weights)
    return {split: tuple(islice(order, count)) for split, count in zip(SPLITS, counts, strict=True)}


def _prepared(folder: Path, name: str) -> Path | None:
    """The folder, if its preparation was completed."""
    if (folder / MANIFEST).is_file():
        return folder
    if any((folder / part).exists() for parts in FOLDERS.values() for part in parts):
        raise DataError(
            f"{folder} is incomplete: it has no {MANIFEST}",
            f"run `skillopt data prepare {name}` again, or name your own splits with env.split_dir",
        )
    return None
