"""The flags every run shares, added to a command in one place."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any

from skillopt_cli.cli import options
from skillopt_cli.compose.settings import Wishes

FLAGS: dict[str, tuple[Any, str]] = {
    "optimizer_model": (options.OptimizerModel, "model.optimizer.name"),
    "target_model": (options.TargetModel, "model.target.name"),
    "optimizer_backend": (options.OptimizerBackend, "model.optimizer.backend"),
    "target_backend": (options.TargetBackend, "model.target.backend"),
    "epochs": (options.Epochs, "train.num_epochs"),
    "batch_size": (options.BatchSize, "train.batch_size"),
    "learning_rate": (options.LearningRate, "optimizer.learning_rate"),
    "lr_scheduler": (options.LrScheduler, "optimizer.lr_scheduler"),
    "seed": (options.Seed, "train.seed"),
    "patience": (options.Patience, "evaluation.patience"),
    "workers": (options.Workers, "run.workers"),
    "max_concurrency": (options.MaxConcurrency, "run.max_concurrency"),
    "max_usd": (options.MaxUsd, "run.max_usd"),
    "max_calls": (options.MaxCalls, "run.max_calls"),
    "max_tokens": (options.MaxTokens, "run.max_tokens"),
    "max_rollouts": (options.MaxRollouts, "run.max_rollouts"),
    "max_minutes": (options.MaxMinutes, "run.max_minutes"),
    "skill_init": (options.SkillInit, "env.skill_init"),
    "from_scratch": (options.FromScratch, "env.from_scratch"),
    "split_dir": (options.SplitDir, "env.split_dir"),
    "out_root": (options.OutRoot, "env.out_root"),
    "require_improvement": (options.RequireImprovement, "run.require_improvement"),
    "display": (options.DisplayOption, "run.display"),
    "tracker": (options.TrackerOption, "run.trackers"),
}
"""Parameter name, its option, and the setting it stands for."""

_GENERAL: dict[str, Any] = {
    "config": options.ConfigOption,
    "preset": options.PresetOption,
    "set_": options.SetOption,
}
_SWITCHES = ("from_scratch", "require_improvement")

FILES = ("config", "preset")
DATA = ("set_", "split_dir")
ASKING = ("set_", "optimizer_model", "target_model", "optimizer_backend", "target_backend")
CAPS = ("max_usd", "max_calls", "max_tokens", "max_rollouts", "max_minutes")
MEASURING = (
    *DATA,
    "target_model",
    "target_backend",
    "workers",
    "max_concurrency",
    *CAPS,
    "from_scratch",
    "out_root",
    "display",
    "tracker",
)
EVERY = (*_GENERAL, *FLAGS)
"""Groups of flags, for the help of a command in which the others have no effect."""


def with_run_flags(
    *shown: str,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the flags of a run; it receives them as one `wishes` argument.

    The command's own `benchmark` parameter, if it has one, goes into the wishes as well.

    Args:
        shown: flags its help lists. The others are taken all the same, so that the flags of a
            training can be given to the commands around it.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        return _with_flags(command, shown)

    return decorated


def _with_flags(command: Callable[..., None], shown: tuple[str, ...]) -> Callable[..., None]:
    own = [p for p in signature(command, eval_str=True).parameters.values() if p.name != "wishes"]
    kinds = {**_GENERAL, **{name: option for name, (option, _) in FLAGS.items()}}
    added = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=False if name in _SWITCHES else None,
            annotation=option if name in shown else _hidden(option),
        )
        for name, option in kinds.items()
    ]

    @wraps(command)
    def wrapped(**given: Any) -> None:
        shared = {name: given.pop(name) for name in kinds}
        # A switch that is not given says nothing, rather than False.
        flags = {key: shared[name] or None for name, (_, key) in FLAGS.items() if name in _SWITCHES}
        flags |= {key: shared[name] for name, (_, key) in FLAGS.items() if name not in _SWITCHES}
        wishes = Wishes(
            benchmark=given.get("benchmark") or "",
            preset=shared["preset"] or "",
            config=shared["config"],
            flags={key: value for key, value in flags.items() if value not in (None, [])},
            assignments=tuple(shared["set_"] or ()),
        )
        command(**given, wishes=wishes)

    keyword = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in own]
    wrapped.__signature__ = signature(command).replace(parameters=[*keyword, *added])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in [*keyword, *added]}
    return wrapped


def _hidden(option: Any) -> Any:
    """An option that the help leaves out."""
    (details,) = option.__metadata__
    details = copy(details)
    details.hidden = True
    return Annotated[option.__origin__, details]
