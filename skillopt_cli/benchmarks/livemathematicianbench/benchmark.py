"""The LiveMathematicianBench benchmark: one question, labelled options, one label as the answer."""

from __future__ import annotations

import sys
from pathlib import Path

from skillopt_cli.benchmarks.answers import given_up
from skillopt_cli.benchmarks.choice import lettered
from skillopt_cli.benchmarks.livemathematicianbench.items import FILES, read_item
from skillopt_cli.benchmarks.livemathematicianbench.prepare import COUNTS, prepare
from skillopt_cli.benchmarks.livemathematicianbench.scorer import choice_score
from skillopt_cli.benchmarks.livemathematicianbench.shuffling import shuffled
from skillopt_cli.benchmarks.livemathematicianbench.wording import (
    ANSWER_FORMAT,
    PROMPTS,
    ROLE,
    SEED_SKILL,
)
from skillopt_cli.benchmarks.options import BenchmarkOptions, read_options
from skillopt_cli.benchmarks.records import Record
from skillopt_cli.benchmarks.splits import SplitTasks, TaskFormat, load_splits, squeezed
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Section, Task
from skillopt_cli.ports import Benchmark, BenchmarkRequest, BenchmarkSpec

NAME = "livemathematicianbench"
SAMPLE = Path(__file__).parent / "sample"


class LiveMathOptions(BenchmarkOptions):
    """The `env.*` keys of LiveMathematicianBench."""

    shuffle_choices: bool = True
    """Whether options are put in a seeded order of their own for each item."""
    choice_seed: int = 42
    """The seed of that order, the same whatever an item is attempted for."""
    use_theorem: bool = False
    """Whether the brief holds the theorem behind the question, where an item has one."""
    use_sketch: bool = False
    """Whether it holds the sketch of the theorem's proof."""


class LiveMath(SplitTasks):
    """LiveMathematicianBench tasks; see `ports.Benchmark`."""

    name = NAME
    version = "1"
    seed_skill = SEED_SKILL
    needs: frozenset[str] = frozenset()

    def brief(self, task: Task) -> Brief:
        """Question and options; theorem and sketch where the options of the benchmark say so."""
        data = task.data
        sections = [Section("Question", data["question"])]
        sections.append(Section("Choices", lettered(data["choices"])))
        for title, key in (("Theorem", "theorem"), ("Proof sketch", "sketch")):
            if data.get(key):
                sections.append(Section(title, data[key]))
        return Brief(task.id, ROLE, tuple(sections), ANSWER_FORMAT)

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """1 for the right option, 0 for any other and for giving up."""
        score = choice_score(attempt.answer, task.data["choices"], task.data["right"])
        if attempt.ending == "gave_up":
            return given_up(score.expected)
        return score


def open_livemath(request: BenchmarkRequest) -> Benchmark:
    """Load the tasks: named splits, monthly files cut by ratio, prepared data, or the sample.

    Raises:
        ConfigError: an option is unknown or malformed.
        DataError: a file or record is unusable; see `load_splits`.
    """
    options = read_options(LiveMathOptions, request.options, NAME)
    form = TaskFormat(lambda record: _task(record, options), _content, FILES)
    return LiveMath(load_splits(request, NAME, form, SAMPLE))


def _task(record: Record, options: LiveMathOptions) -> Task:
    item = read_item(record)
    order = list(range(len(item.choices.texts)))
    if options.shuffle_choices:
        order = shuffled(order, options.choice_seed, item.id)
    data = {
        "question": item.question,
        "choices": [item.choices.texts[place] for place in order],
        "right": order.index(item.right),
        **({"theorem": item.theorem} if options.use_theorem and item.theorem else {}),
        **({"sketch": item.sketch} if options.use_sketch and item.sketch else {}),
    }
    return Task(item.id, sys.intern(item.types[0]), data)


def _content(task: Task) -> str:
    """The question and its options, whatever their order."""
    return squeezed([task.data["question"], *sorted(task.data["choices"])])


SPEC = BenchmarkSpec(
    name=NAME,
    summary="multiple choice about theorems of current mathematics",
    open=open_livemath,
    options=LiveMathOptions,
    sizes=COUNTS,
    prepare=prepare,
    sample=SAMPLE,
    prompts=PROMPTS,
)
