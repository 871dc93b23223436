"""Options shared by commands, each declared once, and the wishes they add up to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from skillopt_cli.config.sections import RunSection
from skillopt_cli.core.plan import Scheduler

# Values of settings come as texts: the configuration reads them, wherever they are from.


def _whole(help: str) -> Any:
    return typer.Option(metavar="<int>", help=help)


def _number(help: str) -> Any:
    return typer.Option(metavar="<float>", help=help)


def _one_of(words: tuple[str, ...], help: str) -> Any:
    return typer.Option(
        metavar=f"<{'|'.join(words)}>", help=help, autocompletion=lambda: list(words)
    )


_SHOWN = get_args(RunSection.model_fields["display"].annotation)

BenchmarkArgument = Annotated[
    str | None,
    typer.Argument(metavar="BENCHMARK", help="Name of a benchmark; else env.name of --config."),
]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="YAML configuration file.")]
PresetOption = Annotated[
    str | None, typer.Option("--preset", help="Named settings: default, paper, demo, tiny.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="<section.key=value>", help="Any setting; may be repeated."),
]
OptimizerModel = Annotated[str | None, typer.Option(help="Model that proposes edits.")]
TargetModel = Annotated[str | None, typer.Option(help="Frozen model whose skill is trained.")]
OptimizerBackend = Annotated[str | None, typer.Option(help="Backend of the optimizer.")]
TargetBackend = Annotated[str | None, typer.Option(help="Backend of the target.")]
Epochs = Annotated[str | None, _whole("Passes over the train split.")]
BatchSize = Annotated[str | None, _whole("Tasks per rollout batch.")]
LearningRate = Annotated[str | None, _whole("Most edits per step.")]
LrScheduler = Annotated[str | None, _one_of(get_args(Scheduler), "How the learning rate changes.")]
Seed = Annotated[str | None, _whole("Seed of shuffles and samples.")]
Patience = Annotated[str | None, _whole("Stop after N steps without an accept.")]
Workers = Annotated[str | None, _whole("Attempts in flight.")]
MaxConcurrency = Annotated[str | None, _whole("Most calls in flight per provider.")]
MaxUsd = Annotated[str | None, _number("Most US dollars for model calls.")]
MaxCalls = Annotated[str | None, _whole("Most answered model calls.")]
MaxTokens = Annotated[str | None, _whole("Most tokens read and written.")]
MaxRollouts = Annotated[str | None, _whole("Most attempts at tasks.")]
MaxMinutes = Annotated[str | None, _number("Most minutes of work.")]
SkillInit = Annotated[str | None, typer.Option(help="Skill file or folder to start from.")]
FromScratch = Annotated[bool, typer.Option("--from-scratch", help="Start from an empty skill.")]
SplitDir = Annotated[str | None, typer.Option(help="Folder with train/, selection/ and test/.")]
OutRoot = Annotated[str | None, typer.Option(help="Where run folders are made.")]
LookupRoot = Annotated[Path, typer.Option("--out-root", help="Where run ids are looked up.")]
RunId = Annotated[str | None, typer.Option(help="Name of the run folder; else the local time.")]
DisplayOption = Annotated[
    str | None, _one_of(_SHOWN, "Live panel, plain lines, or nothing, on stderr.")
]
TrackerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tracker",
        metavar="<str>",
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
