"""The optimizer's prompts: the shipped ones, under those of the benchmark and of the user."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from string import Template

from skillopt_cli.config import RunConfig
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.plugins import load_benchmark
from skillopt_cli.safe_files import MOST_SETTINGS, read_regular
from skillopt_cli.stages.prompt_specs import PROMPTS

PLACEHOLDERS = frozenset({"budget"})


def run_prompts(config: RunConfig) -> dict[str, str]:
    """The optimizer's prompts, those of the benchmark and of `optimizer.prompts_dir` included.

    Raises:
        ConfigError: one of those has an unknown name or cannot be used.
    """
    name = config.env.name
    return effective_prompts(name, load_benchmark(name).prompts, config.optimizer.prompts_dir)


def effective_prompts(
    benchmark: str, overrides: Mapping[str, str], folder: str = ""
) -> dict[str, str]:
    """The prompts of a run by name: the user's over the benchmark's over the shipped ones.

    Args:
        benchmark: name of the benchmark, for messages.
        overrides: its own prompts.
        folder: the user's folder of NAME.md files, empty for none.

    Raises:
        ConfigError: an override has an unknown name or placeholder, lacks a key of the answer, or
            cannot be read.
    """
    prompts = shipped_prompts()
    given = [(f"benchmark `{benchmark}`", name, text) for name, text in overrides.items()]
    if folder:
        given += [(str(path), path.stem, _read(path)) for path in _files(Path(folder))]
    for where, name, text in given:
        check_name(name, f"{where}: ")
        _check(where, name, text)
        prompts[name] = text
    return prompts


def check_name(name: str, where: str = "") -> None:
    """Check that there is a prompt of this name.

    Args:
        where: begins the message.

    Raises:
        ConfigError: there is none; the hint has the likeliest.
    """
    if name not in PROMPTS:
        near = get_close_matches(name, PROMPTS, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(sorted(PROMPTS))}"
        raise ConfigError(f"{where}there is no prompt `{name}`", hint)


def shipped_prompts() -> dict[str, str]:
    """The prompts that come with the package, by name."""
    folder = files("skillopt_cli.stages") / "prompts"
    return {
        entry.name.removesuffix(".md"): entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".md")
    }


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise ConfigError(
            f"optimizer.prompts_dir: {folder} is not a folder",
            "name a folder that holds files such as analyst_error.md",
        )
    return sorted(folder.glob("*.md"))


def _read(path: Path) -> str:
    try:
        return read_regular(path, MOST_SETTINGS).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the prompt {path}: {error}") from None


def _check(where: str, name: str, text: str) -> None:
    where = f"{where}: prompt `{name}`"
    template = Template(text)
    unknown = sorted(set(template.get_identifiers()) - PLACEHOLDERS)
    hint = "write ${budget} for the number of edits, and $$ for a dollar sign"
    if unknown:
        raise ConfigError(f"{where} has the unknown placeholder `{unknown[0]}`", hint)
    if not template.is_valid():
        raise ConfigError(f"{where} has a dollar sign that starts no placeholder", hint)
    if not text.strip():
        raise ConfigError(f"{where} is empty", "remove it to use the shipped one")
    if key := PROMPTS[name].unnamed(text):
        raise ConfigError(
            f'{where} does not name "{key}", a key of the answer',
            f"`skillopt config prompts {name}` prints the shipped one, with the answer's form",
        )
