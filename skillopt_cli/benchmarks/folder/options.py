"""The `env.*` keys of the folder benchmark."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from skillopt_cli.benchmarks.kit.options import BenchmarkOptions
from skillopt_cli.benchmarks.kit.scorers import ScorerName
from skillopt_cli.config.section import Setting

ROLE = "You solve the task you are given."
SEED_SKILL = "# Task\n\nRead the task carefully and give the answer it asks for.\n"
RUBRIC = (
    "You grade answers. An answer is correct when it says what the reference answer says about what"
    " was asked, in whatever words, order and form. It is incorrect when it leaves out a part of"
    " that, adds something that contradicts it, or gives several answers to choose from."
)


class FolderOptions(BenchmarkOptions):
    """The `env.*` keys of the folder benchmark."""

    scorer: Annotated[ScorerName, Setting(flag="--scorer", group="data")] = "exact"
    """How an answer is compared with its references."""
    tolerance: str = Field("0", coerce_numbers_to_str=True)
    """How far a number may be off: an amount such as 0.5, or a share such as 1%."""
    pattern: str = ""
    """Regular expression for records without a `pattern` of their own."""
    rubric: str = ""
    """What the judge of the scorer judge calls a right answer; empty takes a wording of ours."""
    prompt_key: Annotated[str, Setting(flag="--prompt-key", group="data")] = ""
    """Key of the task text; empty takes prompt or question."""
    answer_key: Annotated[str, Setting(flag="--answer-key", group="scored")] = ""
    """Key of the reference; empty takes answer, answers or reference."""
    context_key: Annotated[str, Setting(flag="--context-key", group="data")] = ""
    """Key of a text that is shown with the task, such as its subject; empty takes context."""
    id_key: str = ""
    """Key of the task's id; empty takes id, and where that is missing, one made of the content."""
    role: str = ROLE
    """One line on who the target is and what it does."""
    answer_format: str = ""
    """How the target marks its answer; empty takes the scorer's own wording."""
    seed_skill: str = SEED_SKILL
    """Text training starts from, unless env.skill_init names a file."""
