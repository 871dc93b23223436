"""`skillopt init`: a project for own tasks, with questions about what they leave open."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from os.path import relpath
from pathlib import Path
from typing import Annotated, Any

import typer

from skillopt_cli.cli.options import JsonOption
from skillopt_cli.cli.output import console_on, show_json
from skillopt_cli.cli.run_flags import EVERY, FILES, with_run_flags
from skillopt_cli.compose.benchmark import open_benchmark, splits_in_use
from skillopt_cli.compose.flags import in_shell
from skillopt_cli.compose.own_tasks import TASKS, inferred_line, inferred_reason
from skillopt_cli.compose.script_paths import ARGV
from skillopt_cli.compose.seed_skill import read_skill
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.config.declarations import declared
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.layers import Resolved, Strength, put
from skillopt_cli.config.scalars import dump_yaml
from skillopt_cli.core.companion_files import SKILL_FILE
from skillopt_cli.core.errors import DataError, Interrupted, Undetermined, UsageError
from skillopt_cli.plugins import OWN_TASKS
from skillopt_cli.store.atomic_files import replace_text
from skillopt_cli.store.layout import CONFIG

_QUESTIONS = {
    "env.answer_key": "Which holds the answer?",
    "env.prompt_key": "Which holds the task text?",
    "env.scorer": "Which scorer compares answers?",
}
_MODELS = {
    "model.target.name": "Model that attempts the tasks (empty: named later)",
    "model.optimizer.name": "Model that proposes edits (empty: named later)",
}
_NEXT = (
    "skillopt data check --config {config}",
    "skillopt plan --config {config}",
    "skillopt train --config {config}",
)


@with_run_flags(*(group for group in EVERY if group not in FILES))
def init(
    *,
    benchmark: Annotated[
        str | None, typer.Argument(metavar="TASKS", help="File of own tasks, or folder of splits.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder to make; by default named like the tasks.")
    ] = None,
    json: JsonOption = False,
    overrides: Overrides,
) -> None:
    """Set up a project for own tasks.

    Writes a folder with config.yaml and, without --skill-init, a first SKILL.md. Settings given by
    flags are kept in config.yaml. Columns, scorer and split are inferred from the tasks; on a
    terminal, what they leave open is asked for.
    """
    if overrides.config or overrides.preset:
        raise UsageError(
            "a project has a configuration of its own",
            "give single settings as flags or with --set",
        )
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not json
    tasks = benchmark or next((str(overrides.flags[k]) for k in TASKS if k in overrides.flags), "")
    if not tasks and asks:
        tasks = _ask("File of tasks (.csv, .jsonl, .xlsx, ...)")
        overrides = replace(overrides, benchmark=tasks)
    if not tasks:
        raise UsageError(
            "no task file is named",
            "`skillopt init TASKS`; `skillopt new skill NAME` begins with sample tasks",
        )
    name = _name_of(Path(tasks))
    folder = out or Path(f"{name}-skill")
    if folder.exists():
        raise UsageError(f"{folder} exists already", "choose another folder with --out")
    settled = _settled(replace(overrides, roles=()), asks=asks)
    if settled.config.env.name != OWN_TASKS:
        raise UsageError(
            f"`{tasks}` is a benchmark with tasks of its own", f"`skillopt train {tasks}`"
        )
    opened = open_benchmark(settled.config)
    splits_in_use(settled.config, opened)  # refuses what a training would
    if line := inferred_line(settled.config, settled.sources, settled.unused):
        typer.echo(in_shell(line), err=True)
    files = {CONFIG: _config_text(settled, folder)}
    if not settled.config.env.skill_init:
        files[SKILL_FILE] = _skill_text(settled, name)
    _write(folder, files)
    if json:
        show_json({"folder": str(folder), "data": opened.source})
        return
    typer.echo(f"{opened.source}\nwrote {folder}: {', '.join(files)}\nnext:")
    for command in _NEXT:
        typer.echo(f"  {command.format(config=shlex.quote(str(folder / CONFIG)))}")


def _settled(overrides: Overrides, *, asks: bool) -> Resolved:
    """The settings of the project, with answers to what the tasks leave open.

    Raises:
        Undetermined: they leave something open, and there is no terminal to ask.
    """
    environment = read_environment()
    while True:
        try:
            settled = settle(overrides, environment)
            break
        except Undetermined as error:
            if not asks:
                raise
            typer.echo(error.message, err=True)
            answer = _ask(_QUESTIONS.get(error.key, error.key), error.readings)
            overrides = _with(overrides, error.key, answer)
    if asks:
        env = settled.config.env
        if not (env.skill_init or env.from_scratch):
            overrides = _with(overrides, "env.skill_init", _ask("Skill to start from (empty: new)"))
        for key, question in _MODELS.items():
            role = key.split(".")[1]
            if not getattr(settled.config.model, role).name:
                overrides = _with(overrides, key, _ask(question))
        settled = settle(overrides, environment)
    if named := settled.config.env.skill_init:
        read_skill(Path(named), settled.config.env.editable or (SKILL_FILE,))
    return settled


def _with(overrides: Overrides, key: str, answer: str) -> Overrides:
    return replace(overrides, flags={**overrides.flags, key: answer}) if answer else overrides


def _ask(question: str, choices: tuple[str, ...] = ()) -> str:
    """An answer from the terminal, one of the choices if there are any; it may be empty otherwise.

    Raises:
        Interrupted: the input ended.
    """
    from rich.prompt import Prompt

    try:
        return Prompt.ask(
            question,
            console=console_on(stderr=True),
            choices=list(choices) or None,
            default=choices[0] if choices else "",
            show_default=bool(choices),
        ).strip()
    except EOFError:
        raise Interrupted("no answer: the input ended") from None


def _name_of(tasks: Path) -> str:
    """A name for the skill: small letters and digits, words joined by -."""
    words = re.findall(r"[a-z0-9]+", tasks.absolute().stem.lower())
    return "-".join(words)[:40].strip("-") or "tasks"


def _config_text(settled: Resolved, folder: Path) -> str:
    """The file: what was given or inferred, with why, and paths that count from its folder."""
    chosen: dict[str, Any] = {}
    for row in settled.rows():
        key, value = row["key"], row["value"]
        inferred = inferred_reason(settled.sources.get(key, ""))
        if (settled.rank(key) == Strength.FLAG or inferred) and key != "env.seed_skill":
            put(chosen, key, _placed(key, value, folder), key)
    if "skill_init" not in chosen.get("env", {}):
        put(chosen, "env.skill_init", SKILL_FILE, "")
    lines = ["# Paths in this file count from its folder.", "_paths_: ."]
    for line in dump_yaml(chosen).splitlines():
        reason = inferred_reason(settled.sources.get(f"env.{line.strip().partition(':')[0]}", ""))
        lines.append(f"{line}  # {reason}" if reason else line)
    return "\n".join([*lines, ""])


def _placed(key: str, value: Any, folder: Path) -> Any:
    """A value, as a path from the folder where it is a path."""
    if key == ARGV:
        # A script is made absolute when it is read; the project may be moved with it.
        return [
            relpath(word, folder) if Path(word).is_relative_to(Path.cwd()) else word
            for word in value
        ]
    found = declared(key)
    if found is None or not found.setting.path or not value:
        return value
    return relpath(str(value), folder)


def _skill_text(settled: Resolved, name: str) -> str:
    """A first skill: the seed text that the tasks suggest, below front matter for agents."""
    seed = str(settled.config.env.options.get("seed_skill", ""))
    body = seed.partition("\n\n")[2] or "Read the task carefully and give the answer it asks for.\n"
    about = body.splitlines()[0].partition(",")[0].rstrip(".:") + "."
    title = name.replace("-", " ").capitalize()
    about = f"{about} Say here when an agent should use the skill."
    front = dump_yaml({"name": name, "description": about})
    return f"---\n{front}---\n\n# {title}\n\n{body}"


def _write(folder: Path, files: Mapping[str, str]) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise DataError(
            f"cannot make {folder}: {error.strerror or error}", "choose another folder with --out"
        ) from None
    for name, text in files.items():
        replace_text(folder / name, text)
