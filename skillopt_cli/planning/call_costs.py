"""The cost of a model call: measured in an earlier run, or estimated from lengths of texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from skillopt_cli.backends.chat_agent import render
from skillopt_cli.backends.middleware.metered import Price, unknown
from skillopt_cli.core.events import Role
from skillopt_cli.core.ledger import Spent
from skillopt_cli.core.skill import SkillDocument, taught_text
from skillopt_cli.core.task import Task, Usage
from skillopt_cli.planning.forecast import Range
from skillopt_cli.ports import Benchmark
from skillopt_cli.stages.prompt_text import skill_text

CHARS_PER_TOKEN = 4
ANSWER = Range(10, 100, 1000)
"""Tokens of a target's answer."""
PROPOSAL = Range(100, 500, 2000)
"""Tokens of an optimizer's answer."""
VERDICT = Range(1, 5, 100)
"""Tokens of a judge's answer, and of its rubric beside what it judges."""
RUBRIC = Range.of(200)
GROWTH = Range(0, 500, 2000)
"""Tokens a skill gains in training."""
WRITTEN: Mapping[Role, Range] = {"optimizer": PROPOSAL, "target": ANSWER, "judge": VERDICT}
LONG = 10_000
"""Tokens of a skill from which its length is worth a warning: some times what skills have."""
LOOKED_AT = 50
"""Tasks whose lengths stand for those of all."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one call takes.

    Attributes:
        usd: None where the price of the model is not known.
    """

    prompt: Range
    completion: Range
    usd: Range | None

    @classmethod
    def guessed(cls, prompt: Range, completion: Range, price: Price) -> Cost:
        """Of a call that reads and writes so many tokens."""
        low, point, high = (
            price(Usage(1, round(read), round(written)))
            for read, written in (
                (prompt.low, completion.low),
                (prompt.point, completion.point),
                (prompt.high, completion.high),
            )
        )
        if low is None or point is None or high is None:
            return cls(prompt, completion, None)
        return cls(prompt, completion, Range(low, point, high))

    def like(self, spent: Spent, price: Price) -> Cost:
        """This cost with what calls took on average as the likely one, at the price of today.

        The ends stay where they are, as other tasks and longer skills take less or more.
        """
        prompt, completion, cached = (
            (tokens or 0) / (spent.calls - spent.silent)
            for tokens in (spent.prompt_tokens, spent.completion_tokens, spent.cached_tokens)
        )
        usd = price(Usage(1, round(prompt), round(completion), round(cached)))
        return Cost(
            self.prompt.likely(prompt),
            self.completion.likely(completion),
            None if self.usd is None else self.usd.likely(usd),
        )

    @property
    def tokens(self) -> Range:
        """Read and written."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Costs:
    """What calls of a role take.

    Attributes:
        name: what the role is called.
        other: of a stage whose calls were not measured.
        stages: of those whose were.
        price: of a call to the model.
    """

    name: str
    model: str
    other: Cost
    stages: Mapping[str, Cost] = field(default_factory=dict)
    price: Price = unknown

    @classmethod
    def of_role(
        cls, names: tuple[str, str], guess: Cost, price: Price, measured: Mapping[str, Spent]
    ) -> Costs:
        """The costs by a guess or, where calls were measured, by those.

        Args:
            names: what the role is called, and its model.
            measured: by stage; "" for all stages together.
        """
        stages = {s: guess.like(spent, price) for s, spent in measured.items()}
        return cls(*names, stages.pop("", guess), stages, price)

    @property
    def unpriced(self) -> bool:
        """Whether the price of the model is not known."""
        return self.other.usd is None

    def of(self, stage: str) -> Cost:
        """What a call of a stage takes."""
        return self.stages.get(stage, self.other)


def target_reads(benchmark: Benchmark, tasks: tuple[Task, ...], skill: SkillDocument) -> Range:
    """Tokens a target reads of a task: the least, the mean and the most of the first tasks."""
    lengths = [
        sum(len(message.content) for message in render(benchmark.brief(task), skill))
        for task in tasks[:LOOKED_AT]
    ]
    mean = sum(lengths) / len(lengths)
    return Range(min(lengths), mean, max(lengths)) * (1 / CHARS_PER_TOKEN)


def skill_chars(skill: SkillDocument, *, by_program: bool) -> int:
    """Characters of a skill in every call; a program looks into the files beside it as it likes."""
    return len(skill.text if by_program else taught_text(skill))


def long_skill_words(chars: int, name: str) -> str:
    """What a long skill is like, in a clause; "" for one of a usual length.

    Args:
        chars: of the skill in every call.
        name: of the skill, such as `the seed skill`.
    """
    tokens = chars // CHARS_PER_TOKEN
    if tokens < LONG:
        return ""
    read = f"about {round(tokens, -3):,} tokens that every call reads"
    return f"{name} is long: {chars:,} characters, {read}"


def optimizer_reads(prompts: Collection[str], skill: SkillDocument) -> Range:
    """Tokens an optimizer reads beside what it is to look at."""
    mean = sum(map(len, prompts)) / len(prompts)
    shown = skill.text if skill.folder is None else skill_text(skill)
    return Range.of((mean + len(shown)) / CHARS_PER_TOKEN)
