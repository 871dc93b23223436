"""The LiveMathematicianBench benchmark: one question, labelled options, one label as the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from skillopt_cli.benchmarks.kit.benchmark import TextBenchmark
from skillopt_cli.benchmarks.kit.choices import lettered
from skillopt_cli.benchmarks.kit.options import BenchmarkOptions
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.livemathematicianbench.prepare import COUNTS, prepare
from skillopt_cli.benchmarks.livemathematicianbench.prompts import PROMPTS
from skillopt_cli.benchmarks.livemathematicianbench.scoring import score_reply
from skillopt_cli.benchmarks.livemathematicianbench.tasks import FILES, for_target, read_task
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Section, Task


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


class LiveMath(TextBenchmark[LiveMathOptions]):
    """LiveMathematicianBench tasks; see `ports.Benchmark`."""

    name = "livemathematicianbench"
    prompts = PROMPTS
    options_type = LiveMathOptions
    sample = Path(__file__).parent / "sample"
    pattern = FILES

    def task(self, record: Record) -> Task:
        """Question and options, with theorem and sketch where the settings include them."""
        options = self.options
        extras = {"theorem": options.use_theorem, "sketch": options.use_sketch}
        return for_target(
            read_task(record),
            options.choice_seed if options.shuffle_choices else None,
            [key for key, shown in extras.items() if shown],
        )

    def sections(self, task: Task) -> Sequence[Section]:
        """Question and options, and theorem and sketch where its data hold them."""
        data = task.data
        more = (("Theorem", data.get("theorem")), ("Proof sketch", data.get("sketch")))
        return [
            Section("Question", data["question"]),
            Section("Choices", lettered(data["choices"])),
            *(Section(title, text) for title, text in more if text),
        ]

    def content(self, task: Task) -> Iterable[str]:
        """The question and its options, whatever their order."""
        return [task.data["question"], *sorted(task.data["choices"])]

    def score_attempt(self, task: Task, attempt: Attempt) -> Score:
        """1 for the right option, 0 for any other."""
        return score_reply(attempt.answer, task.data["choices"], task.data["right"])


SPEC = LiveMath.spec(
    "multiple choice about theorems of current mathematics",
    sizes=COUNTS,
    prepare=prepare,
)
