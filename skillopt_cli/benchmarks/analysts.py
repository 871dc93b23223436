"""A benchmark's prompts for the analysts: the shipped ones, told what its tasks are about."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

MODES = ("", "_rewrite", "_full")
"""What the prompts' names end in, by update mode."""
_WORK = "How to work:\n"


def analyst_prompts(failures: str, successes: str) -> Mapping[str, str]:
    """The six analysts' prompts, for `BenchmarkSpec.prompts`.

    Each is the shipped one of its update mode, so that the contract of its answer holds, with a
    paragraph of the benchmark's own before it says how to work.

    Args:
        failures: what the tasks are and the kinds of failures to tell apart.
        successes: what the tasks are and which habits are worth a rule.
    """
    told = {"analyst_error": failures, "analyst_success": successes}
    return {name + mode: _with(name + mode, text) for name, text in told.items() for mode in MODES}


def _with(name: str, paragraph: str) -> str:
    shipped = files("skillopt_cli.stages") / "prompts" / f"{name}.md"
    head, work, tail = shipped.read_text(encoding="utf-8").partition(_WORK)
    return f"{head}{paragraph.strip().replace('$', '$$')}\n\n{work}{tail}"
