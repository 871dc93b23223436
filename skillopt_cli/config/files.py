"""Configuration files: YAML with `_base_` inheritance, the shipped ones, and named presets."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from skillopt_cli.config.layers import DEFAULT, Layer, known_keys
from skillopt_cli.config.model import RunConfig
from skillopt_cli.config.scalars import read_yaml
from skillopt_cli.core.errors import ConfigError

BASE = "_base_"
_NO_BENCHMARKS = (BASE, "presets")
SECTIONS = tuple(RunConfig.model_fields)
_FORM = "a file holds sections with settings below them, as `skillopt config show` lists them"
_CONVERT = "`skillopt config import` converts files of the published system"
_SAVE = "save it anew as UTF-8 text"


def shipped() -> Path:
    """The folder of shipped configurations, in a wheel or in a checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "configs"
    return installed if installed.is_dir() else package.parent / "configs"


def preset_names() -> list[str]:
    """Named presets."""
    return sorted(path.stem for path in (shipped() / "presets").glob("*.yaml"))


def preset_layers(name: str) -> list[Layer]:
    """The layers of a preset.

    Raises:
        ConfigError: there is no such preset.
    """
    if name not in preset_names():
        raise ConfigError(f"there is no preset `{name}`", f"presets: {', '.join(preset_names())}")
    return _renamed(_shipped_layers(shipped() / "presets" / f"{name}.yaml"), f"preset {name}")


def benchmark_layers(benchmark: str) -> list[Layer]:
    """The shipped defaults of a benchmark; none when it ships none."""
    paths = {path.parent.name: path for path in shipped().glob("*/default.yaml")}
    path = paths.get(benchmark)
    if path is None or benchmark in _NO_BENCHMARKS:
        return []
    return _renamed(_shipped_layers(path), f"configs/{benchmark}/default.yaml")


@cache
def _shipped_layers(path: Path) -> tuple[Layer, ...]:
    """The layers of a file that belongs to the program, and so stays as it is."""
    return tuple(file_layers(path))


def _renamed(layers: Iterable[Layer], source: str) -> list[Layer]:
    return [n if n.source == DEFAULT else Layer(source, n.values) for n in layers]


def file_layers(path: Path, seen: tuple[Path, ...] = ()) -> list[Layer]:
    """A file's layers, the files it is based on first.

    Raises:
        ConfigError: a file is missing, is not YAML, is not a mapping, or is based on itself.
    """
    path = path.resolve()
    if path in seen:
        chain = " -> ".join(p.name for p in (*seen, path))
        raise ConfigError(
            f"`_base_` goes round in a circle: {chain}", "remove `_base_` from one of them"
        )
    values = read_mapping(path)
    base = values.pop(BASE, None)
    for section, inside in values.items():
        if section not in SECTIONS:
            raise ConfigError(f"{path.name}: `{section}` is not a section", _section_hint(section))
        if not (inside is None or isinstance(inside, dict)):
            raise ConfigError(
                f"{path.name}: the section `{section}` is not a mapping of settings",
                f"`skillopt config show` lists what stands in `{section}`; {_CONVERT}",
            )
    # The shipped base only writes the defaults down: whatever is based on it says more.
    shipped_base = path == (shipped() / BASE / "default.yaml").resolve()
    layers = [Layer(DEFAULT if shipped_base else path.name, values)]
    if base is None:
        return layers
    if not isinstance(base, str):
        raise ConfigError(
            f"{path.name}: `_base_` is not the path of one file", "chain files, each on one other"
        )
    return [*file_layers(path.parent / base, (*seen, path)), *layers]


def _section_hint(wrong: str) -> str:
    close = [key for key in known_keys() if key.endswith(f".{wrong}")]
    meant = f"did you mean `{close[0]}`?" if close else f"sections are {', '.join(SECTIONS)};"
    return f"{meant} {_CONVERT}"


def read_mapping(path: Path, form: str = _FORM) -> dict[str, Any]:
    """A YAML file as a mapping, its plain scalars still `Written`; `form` hints at its form.

    Raises:
        ConfigError: it is missing, unreadable, no YAML, or no mapping; names the line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(
            f"the configuration file {path} does not exist", "check --config and `_base_`"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}", "name a YAML file that you may read"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"cannot read {path}: it is not UTF-8 text", _SAVE) from None
    try:
        values = read_yaml(text)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{path}{line}: {error.problem or 'not YAML'}", form) from None
    except yaml.YAMLError:
        raise ConfigError(f"{path} holds characters that YAML does not allow", _SAVE) from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"{path} holds no mapping of settings", form)
    return values
