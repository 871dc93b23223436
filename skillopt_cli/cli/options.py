"""Options shared by commands, each declared once, and the wishes they add up to."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Scheduler(StrEnum):
    """Learning rate schedules."""

    constant = "constant"
    linear = "linear"
    cosine = "cosine"


class Display(StrEnum):
    """How a run is shown."""

    auto = "auto"
    rich = "rich"
    plain = "plain"
    none = "none"


BenchmarkArgument = Annotated[
    str | None,
    typer.Argument(metavar="BENCHMARK", help="What to train on; else env.name of --config."),
]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="YAML configuration file.")]
PresetOption = Annotated[
    str | None, typer.Option("--preset", help="Named settings: default, paper, demo, tiny.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Any setting; may be repeated."),
]
OptimizerModel = Annotated[str | None, typer.Option(help="Model that proposes edits.")]
TargetModel = Annotated[str | None, typer.Option(help="Frozen model whose skill is trained.")]
OptimizerBackend = Annotated[str | None, typer.Option(help="Backend of the optimizer.")]
TargetBackend = Annotated[str | None, typer.Option(help="Backend of the target.")]
Epochs = Annotated[int | None, typer.Option(help="Passes over the train split.")]
BatchSize = Annotated[int | None, typer.Option(help="Tasks per rollout batch.")]
LearningRate = Annotated[int | None, typer.Option(help="Most edits per step.")]
LrScheduler = Annotated[Scheduler | None, typer.Option(help="How the learning rate changes.")]
Seed = Annotated[int | None, typer.Option(help="Seed of shuffles and samples.")]
Patience = Annotated[int | None, typer.Option(help="Stop after N steps without an accept.")]
Workers = Annotated[int | None, typer.Option(help="Attempts in flight.")]
MaxConcurrency = Annotated[int | None, typer.Option(help="Most calls in flight per provider.")]
MaxUsd = Annotated[float | None, typer.Option(help="Most US dollars for model calls.")]
MaxCalls = Annotated[int | None, typer.Option(help="Most answered model calls.")]
MaxTokens = Annotated[int | None, typer.Option(help="Most tokens read and written.")]
MaxRollouts = Annotated[int | None, typer.Option(help="Most attempts at tasks.")]
MaxMinutes = Annotated[float | None, typer.Option(help="Most minutes of work.")]
SkillInit = Annotated[str | None, typer.Option(help="Skill file or folder to start from.")]
FromScratch = Annotated[bool, typer.Option("--from-scratch", help="Start from an empty skill.")]
SplitDir = Annotated[str | None, typer.Option(help="Folder with train/, selection/ and test/.")]
OutRoot = Annotated[str | None, typer.Option(help="Where run folders are made.")]
LookupRoot = Annotated[Path, typer.Option("--out-root", help="Where run ids are looked up.")]
RunId = Annotated[str | None, typer.Option(help="Name of the run folder; else the local time.")]
DisplayOption = Annotated[
    Display | None, typer.Option(help="Live panel, plain lines, or nothing, on stderr.")
]
TrackerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tracker",
        metavar="NAME",
        help="Send numbers there too: mlflow, wandb, tensorboard, otel; may be repeated.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, nothing else.")]
RequireImprovement = Annotated[
    bool, typer.Option("--require-improvement", help="Exit with 10 when nothing beat the seed.")
]
AllowDrift = Annotated[
    bool, typer.Option("--allow-drift", help="Go on although conditions changed; recorded.")
]
