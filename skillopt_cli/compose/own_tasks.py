"""Own tasks given by a path: the benchmark that reads them, and the settings they determine."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from skillopt_cli.compose.benchmark import benchmark_request
from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import Layer, Resolved, Strength, Tier
from skillopt_cli.config.section import in_home
from skillopt_cli.core.errors import SkillOptError, UsageError
from skillopt_cli.core.task import SPLITS
from skillopt_cli.plugins import BENCHMARKS, OWN_TASKS, load_benchmark, names
from skillopt_cli.ports import Inference

ARGUMENT = "argument BENCHMARK"
"""Where the settings of a benchmark or a path come from that is given as an argument."""
TASKS = ("env.data_path", "env.split_dir")
"""The settings that name own tasks."""
INFERRED = ("prompt_key", "answer_key", "id_key", "scorer", "split_ratio", "seed_skill")
"""The settings of the section `env` that own tasks may determine."""
_SOURCE = "inferred: "
_LONGEST = 60
"""Characters of a value that is shown beside its name."""


def argument_layers(argument: str) -> list[Layer]:
    """What the argument BENCHMARK sets: the name of one, or a path of own tasks and their reader.

    Raises:
        UsageError: it looks like a path, and nothing is there.
    """
    if not argument:
        return []
    values = {"name": argument}
    if (path := _path(argument)) is not None:
        values = {"name": OWN_TASKS, _kind(path): str(path)}
    return [Layer(ARGUMENT, {"env": values}, Strength.FLAG)]


def as_argument(path: str) -> str:
    """A path of own tasks as the argument BENCHMARK, which is read as no name and as no flag."""
    is_path = "/" in in_home(path) or Path(path).suffix
    if is_path and not path.startswith("-") and path not in names(BENCHMARKS):
        return path
    return f"./{path}"


def inferred_layers(
    draft: Resolved, argument: str, *, scored: bool = True
) -> tuple[list[Layer], str]:
    """What own tasks determine, a layer each, and what of them is not used, in a few words.

    The layers are the weakest there are, but for the benchmark's file. Nothing is inferred where a
    benchmark is named: then the settings alone count, as in the file of a run, and what is not used
    is all that comes back.

    Args:
        scored: whether attempts are scored; where not, the tasks need no answers.

    Raises:
        ConfigError, DataError: the tasks cannot be read, or leave more than one reading.
    """
    env = draft.config.env
    by_path = _path(argument) is not None
    if not any(env.tasks_from):
        return [], ""
    if env.name and not by_path:
        return [], _unused(draft.config, scored=scored) if env.name == OWN_TASKS else ""
    infer = load_benchmark(OWN_TASKS).infer
    request = benchmark_request(draft.config, scored=scored)
    inference = infer(request) if infer else Inference()
    found = dict(inference.settings)
    if env.skill_init or env.from_scratch:
        found.pop("seed_skill", None)
    layers = [
        Layer(f"{_SOURCE}{one.why}", {"env": {key: one.value}}, tier=Tier.BENCHMARK)
        for key, one in found.items()
    ]
    name = Layer(f"{_SOURCE}no benchmark is named", {"env": {"name": OWN_TASKS}})
    return layers if by_path else [name, *layers], inference.unused


def _unused(config: RunConfig, *, scored: bool) -> str:
    """What of own tasks is not used under settings that infer nothing; "" where it is unknown."""
    spec = load_benchmark(OWN_TASKS)
    if spec.infer is None or spec.options is None:
        return ""
    unset = {name: field.default for name, field in spec.options.model_fields.items()}
    request = benchmark_request(config, scored=scored)
    with suppress(SkillOptError):  # opening the benchmark reports it
        return spec.infer(replace(request, options={**unset, **request.options})).unused
    return ""


def inferred_line(
    config: RunConfig, sources: Mapping[str, str], unused: str, *, cut: bool = True
) -> str:
    """What was inferred and is in force, and what is not used, on one line; "" where nothing is.

    Args:
        cut: whether it matters into which splits the tasks are cut.
    """
    found: dict[str, str] = {}
    for name in INFERRED:
        if name == "split_ratio" and not cut:
            continue
        if reason := inferred_reason(sources.get(f"env.{name}", "")):
            value = str(config.env.options.get(name, getattr(config.env, name, "")))
            shown = f" {value}" if len(value) <= _LONGEST and "\n" not in value else ""
            found[name] = f"{name}{shown} ({reason})"
    if not found:
        return unused[:1].upper() + unused[1:]
    parts = [", ".join(found.values()), *([unused] if unused else [])]
    return f"Inferred: {'; '.join(parts)}; {_others(found)}"


def _others(found: Collection[str]) -> str:
    """How to set another value of what was inferred; one setting is the example of several."""
    example = "scorer" if "scorer" in found else next(iter(found))
    if example == "seed_skill":
        example, value = "skill_init", "FILE"
    else:
        value = "2:1:1" if example == "split_ratio" else "NAME"
    sets = "sets" if len(found) == 1 else "and the like set"
    return f"`env.{example}={value}` {sets} another"


def inferred_reason(source: str) -> str:
    """Why a setting of this source was inferred; empty where it was not."""
    return source.removeprefix(_SOURCE) if source.startswith(_SOURCE) else ""


def _path(argument: str) -> Path | None:
    """The path that an argument is, where it names no benchmark.

    Raises:
        UsageError: it looks like a path, and nothing is there.
    """
    if not argument or argument in names(BENCHMARKS):
        return None
    path = Path(in_home(argument))
    with suppress(OSError):  # a name may be too long for a file
        if path.exists():
            return path
    if path.suffix or "/" in argument:
        raise UsageError(
            f"{path.absolute()} does not exist",
            "name a task file, a folder of splits or a benchmark",
        )
    return None


def _kind(path: Path) -> str:
    """The setting that a path of tasks is: a folder of splits, or a file to be cut."""
    splits = path.is_dir() and any((path / split).is_dir() for split in SPLITS)
    return "split_dir" if splits else "data_path"
