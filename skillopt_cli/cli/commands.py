"""The commands by name: the line of each in the help, and the module that is imported for it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A command whose module is imported when it is used.

    Attributes:
        place: module of this package and what it holds: a function, or a group of commands.
        summary: the first sentence of its help.
        runs: whether it takes the flags of a run.
    """

    place: str
    summary: str
    runs: bool = False


COMMANDS = {
    "train": LazyCommand("train:train", "Train a skill document on a benchmark.", runs=True),
    "plan": LazyCommand(
        "plan:plan", "Print what a training takes and costs; no model is called.", runs=True
    ),
    "eval": LazyCommand(
        "evaluate:evaluate",
        "Measure one skill on one split, or several on the same tasks.",
        runs=True,
    ),
    "answer": LazyCommand(
        "answer:answer", "Answer new tasks with a skill; nothing is scored.", runs=True
    ),
    "aa": LazyCommand(
        "aa:aa", "Measure how often the gate accepts a skill against itself.", runs=True
    ),
    "prune": LazyCommand("prune:prune", "Remove what a skill does not need.", runs=True),
    "resume": LazyCommand("resume:resume", "Continue a run where it stopped.", runs=True),
    "sweep": LazyCommand(
        "sweep:sweep",
        "Train with every combination of a grid of settings, or search for a good one.",
        runs=True,
    ),
    "doctor": LazyCommand(
        "doctor:doctor", "Check the setup and print a fix for each fault.", runs=True
    ),
    "gate-report": LazyCommand(
        "gate_report:gate_report",
        "Show what each step proposed and how the gate decided; several runs side by side.",
    ),
    "diff-skills": LazyCommand(
        "diff_skills:compare_skills",
        "Show how two skills differ, and which steps of a run made the changes.",
    ),
    "webui": LazyCommand("webui:webui", "Show runs in a browser, start them and steer them."),
    "ctl": LazyCommand("ctl:app", "Control a running training from another shell."),
    "runs": LazyCommand("runs:app", "Runs on this machine."),
    "benchmarks": LazyCommand("plugins:benchmarks", "What skills can be trained on."),
    "backends": LazyCommand("plugins:backends", "Which models can be used."),
    "data": LazyCommand("data:app", "Task data: samples, downloads, checks."),
    "config": LazyCommand("config:app", "Settings and where they come from."),
    "init": LazyCommand("init:init", "Set up a project for own tasks.", runs=True),
    "new": LazyCommand("new:app", "Create a benchmark or a skill of your own."),
}


def load_command(name: str) -> Any:
    """Import a command and build its parser.

    Args:
        name: one of `COMMANDS`.
    """
    command = COMMANDS[name]
    module, _, attribute = command.place.partition(":")
    found = getattr(import_module(f"{__package__}.{module}"), attribute)
    # A callback makes it a group, whose commands keep their names.
    holder = typer.Typer(callback=lambda: None, rich_markup_mode=None, add_completion=False)
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name)
    elif command.runs:
        from skillopt_cli.cli.run_flags import RunCommand

        holder.command(name, cls=RunCommand)(found)
    else:
        holder.command(name)(found)
    return typer.main.get_group(holder).commands[name]
