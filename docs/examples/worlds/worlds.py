"""What the three worlds share: tasks, runs with a mechanism on and off, and the figures of both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillopt_cli.backends.simulated.world import FAMILIES, family_of, held, rule
from skillopt_cli.core.events import TestMeasured
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Split, Task
from skillopt_cli.engine.session import train_session
from skillopt_cli.stages import measure
from skillopt_cli.testing import MemoryStore, Toy, ToyBenchmark, toy_run, toy_session

PLAIN = (
    "train.batch_size=16",
    "gradient.minibatch_size=4",
    "gradient.merge_batch_size=8",
    "optimizer.use_slow_update=false",
    "optimizer.use_meta_skill=false",
)
"""The loop with the gate and nothing else: what every world starts from."""

Values = dict[str, list[float]]
Figures = dict[str, Any]
ARMS = ("off", "on")


class Reading(ToyBenchmark):
    """Reading tasks, with a seed skill that states the first `rules` rules of the world.

    The selection split asks only for the families in `watched`; train and test ask for all.
    """

    def __init__(
        self,
        sizes: Mapping[Split, int],
        seed: int,
        rules: int = 0,
        watched: Collection[int] = range(FAMILIES),
    ) -> None:
        self._watched, self._selected = watched, sizes["selection"]
        # Enough to choose from, drawn after the others so that these stay the same.
        pool = {"train": sizes["train"], "test": sizes["test"], "selection": 8 * self._selected}
        super().__init__(pool, seed)
        stated = "".join(f"- {rule(family)}\n" for family in range(rules))
        self.seed_skill = f"# Reading\n\nAnswer the question from the text.\n\n{stated}"

    def tasks(self, split: Split) -> Sequence[Task]:
        """The tasks of a split."""
        tasks = super().tasks(split)
        if split != "selection":
            return tasks
        asked = [t for t in tasks if family_of(t.data["question"]) in self._watched]
        return tuple(asked[: self._selected])


@dataclass(frozen=True, slots=True)
class Setting:
    """One variation of a world: settings as for `--set`, and the tasks of a seed."""

    name: str
    settings: tuple[str, ...]
    tasks: Callable[[int], ToyBenchmark]


@dataclass(frozen=True, slots=True)
class World:
    """A mechanism, how it is switched off and on, and where it is tried; the first is plotted."""

    name: str
    mechanism: str
    off: tuple[str, ...]
    on: tuple[str, ...]
    settings: tuple[Setting, ...]

    def switched(self, arm: str) -> tuple[str, ...]:
        """The settings of one arm."""
        return self.on if arm == "on" else self.off


@dataclass(frozen=True, slots=True)
class Course:
    """What one run came to.

    Attributes:
        best: test score of the skill it promotes.
        curve: test score of the current skill at each step, the seed's first.
        rules: share of the rules that any of its texts held which the final one holds.
    """

    best: float
    curve: tuple[float, ...]
    rules: float

    @property
    def figures(self) -> dict[str, float]:
        """By name, what is kept of every run."""
        return {
            "seed": self.curve[0],
            "best": self.best,
            "final": self.curve[-1],
            "rules": self.rules,
        }


async def trained(setting: Setting, switched: Sequence[str], seed: int) -> Course:
    """Train in memory; everything random follows from `seed`."""
    seeds = (f"train.seed={seed}", f"model.simulated.seed={seed}")
    settings = (*PLAIN, *seeds, *setting.settings, *switched)
    toy, store = Toy(settings, benchmark=setting.tasks(seed)), MemoryStore()
    if await train_session(toy_session(toy, store)) != 0:
        raise RuntimeError(f"the run with {' '.join(settings)} did not finish")
    told = {f.event.label: f.event.hard for f in store.facts() if isinstance(f.event, TestMeasured)}
    texts = [store.files[name] for name in sorted(store.files) if name.startswith("skills/step_")]
    run, scores = toy_run(toy), {texts[0]: told["seed"], texts[-1]: told["final"]}
    for text in texts:
        if text not in scores:
            scores[text] = (await measure(run, SkillDocument(text), "test")).hard
    curve = tuple(_score(scores[text]) for text in texts)
    known = {sentence for text in texts for sentence in held(text)}
    return Course(_score(told["best"]), curve, round(len(held(texts[-1])) / len(known), 4))


def figures(world: World, seeds: Sequence[int], picked: Collection[int] | None = None) -> Figures:
    """The figures of a world: for each setting and arm one value per seed.

    Args:
        picked: places of the settings to run; None runs all.
    """
    places = range(len(world.settings)) if picked is None else picked
    found: Figures = {"seeds": list(seeds), "settings": {}}
    for place in places:
        setting = world.settings[place]
        arms = found["settings"][setting.name] = {}
        for arm in ARMS:
            courses = [asyncio.run(trained(setting, world.switched(arm), s)) for s in seeds]
            named = [course.figures for course in courses]
            arms[arm] = {name: [values[name] for values in named] for name in named[0]}
            if place == 0:
                arms[arm]["curves"] = [list(c.curve) for c in courses]
    return found


def table(found: Figures) -> str:
    """The figures as a Markdown table of means, with how often the mechanism won and lost."""
    every = found["settings"].values()
    forgot = any(min(arms[arm]["rules"]) < 1 for arms in every for arm in ARMS)
    rules = " off: rules kept | on: rules kept |" if forgot else ""
    rows = [
        "| setting | seed skill | off: best | off: final | on: best | on: final | won, lost |"
        + rules,
        "|---" * (9 if forgot else 7) + "|",
    ]
    for name, arms in found["settings"].items():
        off, on = arms["off"], arms["on"]
        pairs = list(zip(off["final"], on["final"], strict=True))
        won, lost = sum(b > a for a, b in pairs), sum(b < a for a, b in pairs)
        means = (off["seed"], off["best"], off["final"], on["best"], on["final"])
        cells = [name, *(f"{mean(values):.3f}" for values in means), f"{won}, {lost}"]
        cells += [f"{mean(arm['rules']):.2f}" for arm in (off, on) if forgot]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def mean(values: Sequence[float]) -> float:
    """The mean, of at least one value."""
    return sum(values) / len(values)


def mean_curve(curves: Sequence[Sequence[float]]) -> Iterator[float]:
    """The mean of all curves at each step; a run that stopped early stays where it was."""
    steps = max(map(len, curves))
    return (mean([curve[min(n, len(curve) - 1)] for curve in curves]) for n in range(steps))


def _score(value: float | None) -> float:
    if value is None:
        raise RuntimeError("a skill has no test score")
    return round(value, 4)
