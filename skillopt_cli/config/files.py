"""Configuration files: YAML with `_base_` inheritance, the shipped ones, and named presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from os.path import normpath, relpath
from pathlib import Path
from typing import Any

import yaml

from skillopt_cli.config.declarations import declared, known_keys, own_settings
from skillopt_cli.config.environment import user_folder
from skillopt_cli.config.layers import DEFAULT, Layer, Tier, flatten, put, typed
from skillopt_cli.config.model import RunConfig
from skillopt_cli.config.scalars import Written, is_null, read_yaml
from skillopt_cli.config.section import in_home, is_address
from skillopt_cli.config.suggestions import suggestion
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.safe_files import MOST_SETTINGS, read_text

BASE = "_base_"
PATHS = "_paths_"
"""The folder that relative paths in a file count from, itself counted from that of the file."""
RUN_FOLDER = "_run_folder_"
"""Where the run folder was that holds a file: paths near it are looked for near the file."""
_NO_BENCHMARKS = (BASE, "presets")
SECTIONS = tuple(RunConfig.model_fields)
_FORM = "a file holds sections with settings below them, as `skillopt config show` lists them"
_CONVERT = "`skillopt config import` converts files of the published system"
_SAVE = "save it as UTF-8 text"


def shipped() -> Path:
    """The folder of shipped configurations, in a wheel or in a checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "configs"
    return installed if installed.is_dir() else package.parent / "configs"


def preset_names() -> list[str]:
    """Named presets."""
    return sorted(path.stem for path in (shipped() / "presets").glob("*.yaml"))


def preset_layers(name: str) -> list[Layer]:
    """The layers of a preset, those of a preset it is based on first.

    The preset `default` holds defaults, so a benchmark's own file wins over it.

    Raises:
        ConfigError: there is no such preset.
    """
    if name not in preset_names():
        listed = f"presets: {', '.join(preset_names())}"
        raise ConfigError(f"there is no preset `{name}`", suggestion(name, preset_names(), listed))
    layers = _shipped_layers(shipped() / "presets" / f"{name}.yaml")
    return [
        replace(
            layer, source=f"preset {stem}", tier=Tier.DEFAULT if stem == DEFAULT else Tier.PRESET
        )
        for layer in layers
        if (stem := Path(layer.source).stem)
    ]


def benchmark_layers(benchmark: str) -> list[Layer]:
    """The shipped defaults of a benchmark; none when it ships none."""
    paths = {path.parent.name: path for path in shipped().glob("*/default.yaml")}
    path = paths.get(benchmark)
    if path is None or benchmark in _NO_BENCHMARKS:
        return []
    source = f"configs/{benchmark}/default.yaml"
    return [replace(layer, source=source) for layer in _shipped_layers(path)]


@cache
def _shipped_layers(path: Path) -> tuple[Layer, ...]:
    """The layers of a shipped file, which stays as it is. Files in `_base_` hold defaults alone."""
    values = read_mapping(path)
    base = values.pop(BASE, None)
    earlier = _shipped_layers(path.parent / base) if base and BASE not in Path(base).parts else ()
    return (*earlier, _layer(path, base, values))


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
    _place_paths(path, values)
    for section, inside in values.items():
        if section not in SECTIONS:
            raise ConfigError(f"{path.name}: `{section}` is not a section", _section_hint(section))
        if not (inside is None or isinstance(inside, dict)):
            raise ConfigError(
                f"{path.name}: the section `{section}` is not a mapping of settings",
                f"`skillopt config show` lists what is in `{section}`; {_CONVERT}",
            )
    layers = [replace(_layer(path, base, values), file=None if _of_user(path) else path)]
    if base is None:
        return layers
    if not isinstance(base, str):
        raise ConfigError(
            f"{path.name}: `_base_` is not the path of one file", "chain files, each on one other"
        )
    return [*file_layers(path.parent / base, (*seen, path)), *layers]


def _of_user(path: Path) -> bool:
    """Whether a file is shipped, or lies in the user's own configuration folder."""
    own = user_folder("config")
    folders = [shipped(), *([own.resolve()] if own else [])]
    return any(path.is_relative_to(folder) for folder in folders)


def _place_paths(path: Path, values: dict[str, Any]) -> None:
    """Take `_paths_` and `_run_folder_` out of a file's values, and apply them to its paths.

    Raises:
        ConfigError: one of the two is not a path.
    """
    for name, placed in ((PATHS, _from_folder), (RUN_FOLDER, _moved)):
        folder = values.pop(name, None)
        if folder is None:
            continue
        if not isinstance(folder, str) or not folder:
            raise ConfigError(
                f"{path.name}: `{name}` is not the path of a folder", f"such as `{name}: .`"
            )
        for key, found in own_settings().items():
            section, _, field = key.partition(".")
            inside = values.get(section) if found.setting.path else None
            given = inside.get(field) if isinstance(inside, dict) else None
            if not isinstance(inside, dict) or not isinstance(given, str):
                continue
            if not is_null(given) and not is_address(given):
                inside[field] = placed(path.parent, folder, in_home(given))


def _from_folder(here: Path, folder: str, given: str) -> str:
    return str(here / in_home(folder) / given)


def _moved(here: Path, home: str, given: str) -> str:
    """A path as it is, or as far from `here` as it was from `home`, if it is found there."""
    if Path(home) == here or not Path(given).is_absolute():
        return given
    near = Path(normpath(here / relpath(given, home)))
    return str(near) if near.exists() else given


def _layer(path: Path, base: object, values: dict[str, Any]) -> Layer:
    """A file's own layer, without the files it is based on.

    A base file is one in a folder `_base_`. A benchmark's own is `NAME/default.yaml` beside it, so
    that a copy of the shipped folder means the same as the shipped folder.
    """
    folder, source = path.parent.name, f"{path.parent.name}/{path.name}"
    if folder == BASE:
        return Layer(source, _beyond_defaults(values, source), tier=Tier.BASE)
    env = values.get("env")
    named = env.get("name") if isinstance(env, dict) else None
    on_base = isinstance(base, str) and Path(base).parent.name == BASE
    if path.name == "default.yaml" and on_base and named == folder:
        return Layer(source, values, tier=Tier.BENCHMARK)
    return Layer(path.name, values)


def _beyond_defaults(values: Mapping[str, Any], source: str) -> dict[str, Any]:
    """A base file's settings without those that only repeat a default."""
    kept: dict[str, Any] = {}
    for key, written in flatten(values):
        value = typed(key, written) if isinstance(written, Written) else written
        found = declared(key)
        if found is None or value not in (None, found.info.default):
            put(kept, key, written, source)
    return kept


def _section_hint(wrong: str) -> str:
    sections = f"sections are {', '.join(SECTIONS)};"
    return f"{suggestion(wrong, [*SECTIONS, *known_keys()], sections)} {_CONVERT}"


def read_mapping(path: Path, form: str = _FORM) -> dict[str, Any]:
    """A YAML file as a mapping, its plain scalars still `Written`; `form` hints at its form.

    Raises:
        ConfigError: it is missing, unreadable, no YAML, or no mapping; names the line.
    """
    try:
        text = read_text(path, MOST_SETTINGS)
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
