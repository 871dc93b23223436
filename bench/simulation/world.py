"""The simulated worlds: kinds of questions, the rules they need, and lines that do harm.

Each task asks for an entry of one of 24 registers. A skill solves it if it holds, word for word,
the rules of that register and no line that breaks it. Everything follows from the world's name and
a seed: the tasks, the rules, and which answers are flipped by noise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations

from skillopt_cli.backends.simulated.world import chance

SPLITS = {"train": 80, "selection": 40, "test": 60}
SEED_SKILL = "# Registers\n\nGive the value that the register has for the entry.\n"

_NAMES = """
amber basalt cedar dune ember fjord garnet heather indigo juniper krypton linden marble nettle onyx
pewter quartz russet saffron teal umber violet willow zinc
"""
KINDS = tuple(_NAMES.split())
UNTAUGHT, PAIRED = 4, 6
"""Kinds that need no rule, and kinds that need the rule of another kind besides their own."""

_RULES = (
    "write the value in capital letters",
    "give the value before its last correction",
    "put the sign of the ledger in front of the value",
    "take the value of the second column",
    "leave out the unit of the value",
    "read the value from right to left",
)
_HARM = (
    "write the value in small letters",
    "give the average of the value and its neighbours",
    "add where the value was found",
    "round the value to the nearest ten",
    "give the value as a full sentence",
    "name two values where the entry is unclear",
)
USELESS = tuple(
    f"- {text}.\n"
    for text in (
        "Take the time that the entry deserves",
        "Remember that every register had an author",
        "Be attentive while reading",
        "Treat each entry as if it were the first",
        "Good values come from good reading",
        "Keep in mind what the register is for",
        "A register may be read more than once",
        "Be precise in all things",
        "Think about the entry before answering it",
        "Do not be put off by a long register",
        "Look at the entry as a whole",
        "Care for the reader of the value",
    )
)
_QUESTION = re.compile(r"Register (\w+), entry (\d+): what is its value\?")
_SYLLABLES = re.findall("..", "badafegohukalimonuperasitovuwazo")


@dataclass(frozen=True, slots=True)
class Settings:
    """One world: shares of what its optimizer proposes, and what its rules do.

    Attributes:
        right: of the edits for a gap, those with the rule that is missing.
        harmful: those with a line that breaks the kind; the others are useless.
        memorised: edits that give the answer of one task instead, drawn before the others.
        wrong_claims: task ids of an edit that are replaced with ids of other kinds.
        side_effects: rules that break a second kind.
        reach: tasks of a kind that its rules solve.
        noise: answers that are flipped, drawn for each task and text.
        sizes: tasks of each split, at most 1,000.
    """

    name: str
    summary: str
    right: float = 0.6
    harmful: float = 0.2
    memorised: float = 0.0
    wrong_claims: float = 0.0
    side_effects: float = 0.0
    reach: float = 1.0
    noise: float = 0.05
    sizes: Mapping[str, int] = field(default_factory=lambda: SPLITS)


LARGE = Settings(
    "large", "as base, with 1,000 tasks in each split", sizes=dict.fromkeys(SPLITS, 1000)
)
"""For measuring times, not for comparing learners."""
WORLDS: Mapping[str, Settings] = {
    world.name: world
    for world in (
        Settings("base", "the optimizer is right in 60 % of its edits"),
        Settings("side_effects", "30 % of the right rules break another kind", side_effects=0.3),
        Settings(
            "wrong_claims", "30 % of the tasks that an edit names are wrong", wrong_claims=0.3
        ),
        Settings("worthless_claims", "all tasks that an edit names are wrong", wrong_claims=1.0),
        Settings("partly_effective", "a rule solves only 60 % of its kind", reach=0.6),
        Settings("memorised", "30 % of the edits are the answer of one task", memorised=0.3),
        Settings("weak", "20 % of the edits are right, 50 % harmful", right=0.2, harmful=0.5),
    )
}


@dataclass(frozen=True, slots=True)
class Item:
    """One task."""

    id: str
    kind: str
    entry: int

    @property
    def question(self) -> str:
        """The text that the target is asked."""
        return f"Register {self.kind}, entry {self.entry}: what is its value?"


class World:
    """A world of one seed."""

    def __init__(self, settings: Settings, seed: int) -> None:
        self.settings = settings
        self.seed = seed
        order = sorted(KINDS, key=lambda kind: self.draw("order", kind))
        self.untaught = frozenset(order[:UNTAUGHT])
        taught = order[UNTAUGHT:]
        second = dict(zip(taught[:PAIRED], taught[PAIRED:], strict=False))
        self.needed: Mapping[str, tuple[str, ...]] = {
            kind: tuple(self.rule(k) for k in (kind, second.get(kind)) if k) for kind in taught
        } | dict.fromkeys(self.untaught, ())
        self.broken_by = self._side_effects(taught)

    def draw(self, *causes: object) -> float:
        """A number in [0, 1) that depends on the world, its seed and `causes` alone."""
        return chance(self.seed, *causes)

    def rule(self, kind: str) -> str:
        """The sentence that teaches a kind, without a bullet."""
        return f"In register {kind}, {self._pick(_RULES, 'rule', kind)}"

    def harmful(self, kind: str) -> tuple[str, str]:
        """The two sentences that break a kind and look like its rule."""
        first = int(self.draw("harm", kind) * len(_HARM))
        second = (first + 1 + int(self.draw("harm", kind, 2) * (len(_HARM) - 1))) % len(_HARM)
        return f"In register {kind}, {_HARM[first]}", f"In register {kind}, {_HARM[second]}"

    def value(self, item: Item) -> str:
        """The right answer."""
        word = "".join(self._pick(_SYLLABLES, item.id, n) for n in range(3))
        return f"{word} {int(self.draw(item.id, 'number') * 900) + 100}"

    def memory(self, item: Item) -> str:
        """The sentence that gives one task's answer away."""
        return f"Entry {item.entry} of register {item.kind} is {self.value(item)}"

    @cached_property
    def items(self) -> Mapping[str, tuple[Item, ...]]:
        """The tasks of each split; no two are about the same entry."""
        sizes = self.settings.sizes
        return {split: tuple(self._items(split, size)) for split, size in sizes.items()}

    def read(self, text: str) -> Item | None:
        """The task that a text asks, None if it asks none."""
        found = _QUESTION.search(text)
        return self.by_question.get((found[1], int(found[2]))) if found else None

    @cached_property
    def by_question(self) -> Mapping[tuple[str, int], Item]:
        """The tasks of all splits by register and entry."""
        return {(item.kind, item.entry): item for item in chain(*self.items.values())}

    def solves(self, text: str, item: Item) -> bool:
        """Whether a skill solves a task, without noise."""
        if self.memory(item) in text:
            return True
        if any(line in text for line in (*self.harmful(item.kind), *self.broken_by[item.kind])):
            return False
        needed = self.needed[item.kind]
        if needed and self.draw("reach", item.id) >= self.settings.reach:
            return False
        return all(rule in text for rule in needed)

    def answers(self, text: str, item: Item) -> bool:
        """Whether the target answers right with a text: as `solves` says, or flipped by noise."""
        flipped = self.draw("noise", item.id, text) < self.settings.noise
        return self.solves(text, item) != flipped

    def accuracy(self, text: str, split: str = "test") -> float:
        """The share of a split's tasks that a skill solves, without noise."""
        items = self.items[split]
        return sum(self.solves(text, item) for item in items) / len(items)

    @cached_property
    def ceiling(self) -> float:
        """The best accuracy on the test split that any set of the right rules has."""
        doubtful = sorted(set(chain(*self.broken_by.values())))
        sure = [self.rule(kind) for kind in KINDS if kind not in self.untaught]
        sure = [rule for rule in sure if rule not in doubtful]
        chosen = chain(*(combinations(doubtful, n) for n in range(len(doubtful) + 1)))
        return max(self.accuracy("\n".join((*sure, *rules))) for rules in chosen)

    def kept(self, text: str) -> dict[str, int]:
        """How many right, harmful, useless and memorised lines a skill holds."""
        rules = (self.rule(kind) for kind in KINDS if kind not in self.untaught)
        harm = chain(*(self.harmful(kind) for kind in KINDS))
        answers = (self.memory(item) for item in self.by_question.values())
        return {
            "right": sum(rule in text for rule in rules),
            "harmful": sum(line in text for line in harm),
            "useless": sum(line.strip("- \n") in text for line in USELESS),
            "memorised": sum(line in text for line in answers),
        }

    def _pick(self, options: Sequence[str], *causes: object) -> str:
        return options[int(self.draw(*causes) * len(options))]

    def _items(self, split: str, size: int) -> Iterator[Item]:
        """A split's tasks, in which each kind is asked about equally often, or once more."""
        kinds = sorted(KINDS, key=lambda kind: self.draw("kinds", split, kind))
        asked = [kinds[number % len(kinds)] for number in range(size)]
        places = sorted(range(size), key=lambda number: self.draw("place", split, number))
        first = 1000 * (1 + list(SPLITS).index(split))
        for number, place in enumerate(places):
            yield Item(f"{split}-{number + 1:03d}", asked[place], first + number)

    def _side_effects(self, taught: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """The rules that break each kind, besides the harmful lines."""
        broken: dict[str, tuple[str, ...]] = dict.fromkeys(KINDS, ())
        for kind in taught:
            if self.draw("side effect", kind) < self.settings.side_effects:
                others = [k for k in KINDS if k != kind and self.rule(kind) not in self.needed[k]]
                victim = self._pick(others, "victim", kind)
                broken[victim] = (*broken[victim], self.rule(kind))
        return broken
