"""skillopt: train skill documents for frozen language models and agents.

The public Python API. A name is imported when it is first used, so that `import skillopt_cli` and
`skillopt --help` stay light.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "skillopt_cli.api": (
        "Decision",
        "RunResult",
        "SplitScore",
        "answer",
        "answer_async",
        "evaluate",
        "evaluate_async",
        "load_run",
        "prune",
        "prune_async",
        "resume",
        "resume_async",
        "train",
        "train_async",
    ),
    "skillopt_cli.benchmarks.kit.answers": ("contrast", "extract_answer"),
    "skillopt_cli.benchmarks.kit.benchmark": (
        "JudgedAnswers",
        "PictureBenchmark",
        "RetriedAnswers",
        "TextBenchmark",
        "ToolBenchmark",
    ),
    "skillopt_cli.benchmarks.kit.options": ("BenchmarkOptions",),
    "skillopt_cli.benchmarks.kit.prompts": ("Prompts",),
    "skillopt_cli.benchmarks.kit.records": ("Record",),
    "skillopt_cli.benchmarks.kit.splits": ("Splits", "TaskFormat", "load_splits", "squeezed"),
    "skillopt_cli.config": ("RunConfig", "Setting", "SettingsSection"),
    "skillopt_cli.core.companion_files": ("Folder",),
    "skillopt_cli.core.edits": ("Edit",),
    "skillopt_cli.core.episode": ("Episode", "Opened", "ToolCall", "ToolResult"),
    "skillopt_cli.core.errors": (
        "ConfigError",
        "DataError",
        "SkillOptError",
        "TransientError",
        "UsageError",
    ),
    "skillopt_cli.core.events": ("RunEvent", "Stamped"),
    "skillopt_cli.core.score": ("Score",),
    "skillopt_cli.core.skill": ("SkillDocument",),
    "skillopt_cli.core.task": (
        "Attempt",
        "Brief",
        "ChatReply",
        "ChatRequest",
        "Image",
        "Message",
        "Section",
        "Split",
        "Task",
        "TaskFile",
        "Tool",
        "Usage",
    ),
    "skillopt_cli.ports": (
        "AgentBackend",
        "BackendSpec",
        "Benchmark",
        "BenchmarkRequest",
        "BenchmarkSpec",
        "ChatBackend",
        "Closing",
        "Executor",
        "Finished",
        "Interactive",
        "Judged",
        "Need",
        "Point",
        "RoleSettings",
        "Server",
        "StageTime",
        "TrackedRun",
        "Tracker",
        "TrackerSpec",
    ),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
