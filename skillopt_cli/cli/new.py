"""`skillopt new benchmark` and `skillopt new skill`: a start that works as it is."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.cli.options import JsonOption
from skillopt_cli.cli.output import show_json
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.plugins import BENCHMARKS, names

app = typer.Typer(help="Create a benchmark or a skill of your own.", no_args_is_help=True)

_WORDS = {"benchmark": "_", "skill": "-"}
"""What joins the words of a name: one is a module of Python, the other is read by agents."""
_LONGEST_NAME = 64
_STARTER = "starter"
_SUFFIX = ".txt"
_NEXT = {
    "benchmark": (
        "pip install --editable {folder}",
        "skillopt train {name} --preset tiny",
        "its tasks are in {folder}/skillopt_{name}/sample",
    ),
    "skill": (
        "skillopt train --config {folder}/config.yaml --preset tiny",
        "its tasks are in {folder}/tasks",
    ),
}

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Small letters and digits, words joined by _.")
]
Title = Annotated[
    str, typer.Argument(metavar="NAME", help="Small letters and digits, words joined by -.")
]
Out = Annotated[Path | None, typer.Option(help="Folder to make; by default named like the start.")]


@app.command("benchmark")
def benchmark(name: Name, out: Out = None, json: JsonOption = False) -> None:
    """Write a small package with a benchmark of that name: tasks, briefs, a scorer, a test.

    Installed with pip, it is trained on like any other.
    """
    _check(name, "benchmark")
    if name in names(BENCHMARKS):
        raise UsageError(f"there is a benchmark `{name}` already", "choose another name")
    package = f"skillopt_{name}"
    if find_spec(package) is not None:
        raise UsageError(f"there is a package {package} already", "choose another name")
    folder = out or Path(f"skillopt-{name}")
    tasks = f"{package}/sample"
    _write(folder, {"": _start("benchmark"), tasks: _start("tasks")}, name)
    _tell("benchmark", name, folder, as_json=json)


@app.command("skill")
def skill(name: Title, out: Out = None, json: JsonOption = False) -> None:
    """Write a folder with a skill, tasks to train it on, and a configuration.

    No Python is needed: the tasks are read by the benchmark `folder`.
    """
    _check(name, "skill")
    folder = out or Path(name)
    _write(folder, {"": _start("skill"), "tasks": _start("tasks")}, name)
    _tell("skill", name, folder, as_json=json)


def _check(name: str, kind: str) -> None:
    joint = _WORDS[kind]
    form = re.compile(rf"(?=.{{1,{_LONGEST_NAME}}}\Z)[a-z][a-z0-9]*({joint}[a-z0-9]+)*\Z")
    if form.match(name):
        return
    near = joint.join(re.findall(r"[a-z0-9]+", name.lower()))
    raise UsageError(
        f"`{name}` cannot be the name of a {kind}",
        f"did you mean `{near}`?"
        if form.match(near)
        else f"begin with a small letter, and use at most {_LONGEST_NAME} small letters and digits"
        f" with {joint} between words, such as my{joint}tasks",
    )


def _start(kind: str) -> Traversable:
    return files("skillopt_cli.cli") / "templates" / kind


def _write(folder: Path, parts: Mapping[str, Traversable], name: str) -> None:
    """Copy the parts below the folder, under its name.

    Raises:
        UsageError: the folder exists.
        DataError: it cannot be written.
    """
    if folder.exists():
        raise UsageError(f"{folder} exists already", "choose another folder with --out")
    title = [word.capitalize() for word in re.split("[_-]", name)]
    words = {
        _STARTER: name,
        # A class in a benchmark, whose words _ joins; a heading in a skill, with -.
        _STARTER.title(): ("" if "_" in name else " ").join(title),
        "FOLDER": folder.as_posix(),
    }
    try:
        for place, start in parts.items():
            for path, text in _texts(start):
                target = folder / place / _replaced(path, words)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(_replaced(text, words), encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"cannot write {folder}: {error.strerror or error}", "choose another folder with --out"
        ) from None


def _texts(start: Traversable, place: str = "") -> Iterator[tuple[str, str]]:
    """Each file below, by its path without the suffix that keeps it from being a source of ours."""
    for entry in start.iterdir():
        path = f"{place}{entry.name}"
        if entry.is_dir():
            yield from _texts(entry, f"{path}/")
        else:
            yield path.removesuffix(_SUFFIX), entry.read_text(encoding="utf-8")


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for word, instead in words.items():
        text = text.replace(word, instead)
    return text


def _tell(kind: str, name: str, folder: Path, *, as_json: bool) -> None:
    if as_json:
        show_json({"folder": str(folder)})
        return
    typer.echo(f"wrote {folder}")
    for line in _NEXT[kind]:
        typer.echo(f"  {line.format(folder=shlex.quote(str(folder)), name=name)}")
