"""Prompts of a benchmark: for its target, its judge and the optimizer's analysts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

MODES = ("", "_rewrite", "_full")
"""What the prompts' names end in, by update mode."""
_WORK = "How to work:\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """What a benchmark writes to models.

    Attributes:
        role, answer_format: of the brief; see `core.task.Brief`.
        seed_skill: the text that training starts from.
        rubric: for the judge: who it is, and what is correct.
        failures: for the analysts: what the tasks are, and the kinds of failures to distinguish.
        successes: for the analysts: what the tasks are, and which habits are worth a rule.
    """

    role: str
    seed_skill: str
    answer_format: str = ""
    rubric: str = ""
    failures: str = ""
    successes: str = ""

    @property
    def analysts(self) -> Mapping[str, str]:
        """The six analysts' prompts, for `BenchmarkSpec.prompts`; none without texts for them.

        Each is the shipped one of its update mode, so that the contract of its answer holds, with a
        paragraph of the benchmark's own before the section on how to work.
        """
        if not self.failures:
            return {}
        paragraphs = {"analyst_error": self.failures, "analyst_success": self.successes}
        return {
            name + mode: _with(name + mode, text)
            for name, text in paragraphs.items()
            for mode in MODES
        }


def _with(name: str, paragraph: str) -> str:
    shipped = files("skillopt_cli.stages") / "prompts" / f"{name}.md"
    head, work, tail = shipped.read_text(encoding="utf-8").partition(_WORK)
    return f"{head}{paragraph.strip().replace('$', '$$')}\n\n{work}{tail}"
