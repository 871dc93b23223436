"""The ALFWorld benchmark: a household task is done when the engine says so.

Data: Shridhar et al., "ALFWorld: Aligning Text and Embodied Environments for Interactive Learning"
(2021), on the tasks of ALFRED.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from pydantic import Field

from skillopt_cli.benchmarks.alfworld.engine import Engine, Game
from skillopt_cli.benchmarks.alfworld.episode import GameEpisode
from skillopt_cli.benchmarks.alfworld.games import FOLDER, Games
from skillopt_cli.benchmarks.alfworld.prepare import COUNTS, prepare
from skillopt_cli.benchmarks.alfworld.texts import ANSWER_FORMAT, PROMPTS, ROLE, SEED_SKILL
from skillopt_cli.benchmarks.options import BenchmarkOptions, read_options
from skillopt_cli.benchmarks.splits import Splits, SplitTasks, TaskFormat, load_splits
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Section, Task
from skillopt_cli.core.words import count
from skillopt_cli.ports import Benchmark, BenchmarkRequest, BenchmarkSpec, Executor

SAMPLE = Path(__file__).parent / "sample"
EXTRA = "alfworld"
_PACKAGES = ("textworld", "alfworld")


class AlfworldOptions(BenchmarkOptions):
    """The `env.*` keys of ALFWorld."""

    max_steps: int = Field(50, ge=1)
    """Answers a game lasts at most, those without a usable action included."""
    games_dir: str = FOLDER
    """Where `alfworld-download` put the games; unset, ~/.cache/alfworld."""


class Alfworld(SplitTasks):
    """ALFWorld games; see `ports.Interactive`."""

    name = "alfworld"
    version: str
    seed_skill = SEED_SKILL
    needs: frozenset[str] = frozenset({"turns"})

    def __init__(self, splits: Splits, games: Games, options: AlfworldOptions) -> None:
        super().__init__(splits)
        self.version = f"1-{options.max_steps}"
        self._games, self._options = games, options
        self._engine = Engine()

    def brief(self, task: Task) -> Brief:
        """The goal; room and admissible actions are shown by the game itself."""
        section = Section("Task", task.data["task"])
        steps = self._options.max_steps
        return Brief(task.id, ROLE, (section,), ANSWER_FORMAT, max_turns=steps)

    @asynccontextmanager
    async def episode(self, task: Task, executor: Executor) -> AsyncIterator[GameEpisode]:
        """A game of its own, opened when the first word is needed."""
        async with AsyncExitStack() as stack:

            async def begin() -> Game:
                sent = await self._games.content(task)
                return await stack.enter_async_context(self._engine.play(sent))

            yield GameEpisode(task.data["task"], self._options.max_steps, begin)

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        """The game's walkthrough, played."""
        answer = ""
        async with self.episode(task, executor) as episode:
            for action in await self._games.walkthrough(task):
                answer = f"<action>{action}</action>"
                await episode.hear(answer)
            return Attempt(answer, outcome=await episode.outcome(answer))

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """1 for a game that is won, else 0."""
        left = attempt.outcome
        if left.get("won"):
            return Score(1.0, 1.0)
        if not left.get("steps"):
            return Score(0.0, 0.0, "the task was not done: no step was taken")
        told = [f"the task was not done in {count(left['steps'], 'step')}"]
        if left["unusable"]:
            told.append(f"{count(left['unusable'], 'answer')} held no action between the tags")
        if left["idle"]:
            told.append(f"{count(left['idle'], 'action')} could not be done and changed nothing")
        return Score(0.0, 0.0, "; ".join(told))


def missing() -> str:
    """Packages of the extra that are not installed; "" when all are."""
    absent = [name for name in _PACKAGES if find_spec(name) is None]
    return f"the packages {' and '.join(absent)}" if absent else ""


def open_alfworld(request: BenchmarkRequest) -> Benchmark:
    """Load the tasks: named splits, prepared data, or the bundled sample.

    Raises:
        ConfigError: an option is unknown or out of range.
        DataError: the engine is not installed, or a file, record or game is unusable.
    """
    options = read_options(AlfworldOptions, request.options, SPEC.name)
    if lacking := missing():
        raise DataError(
            f"the alfworld benchmark needs {lacking}",
            f"pip install 'skillopt-cli[{EXTRA}]', which compiles for some minutes",
        )
    games = Games(options.games_dir)
    splits = load_splits(request, SPEC.name, TaskFormat(games.task, games.told), SAMPLE)
    return Alfworld(splits, games, options)


SPEC = BenchmarkSpec(
    name="alfworld",
    summary="household tasks played in text, step by step (won or not)",
    open=open_alfworld,
    options=AlfworldOptions,
    modality=("text", "turns"),
    sizes=COUNTS,
    prepare=prepare,
    sample=SAMPLE,
    extra=EXTRA,
    missing=missing,
    prompts=PROMPTS,
)
