"""The ALFWorld benchmark: a household task is done when the engine reports it.

Data: Shridhar et al., "ALFWorld: Aligning Text and Embodied Environments for Interactive Learning"
(2021), on the tasks of ALFRED.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from pydantic import Field

from skillopt_cli.benchmarks.alfworld.engine import Game, GameEngine
from skillopt_cli.benchmarks.alfworld.episode import GameEpisode
from skillopt_cli.benchmarks.alfworld.prepare import COUNTS, prepare
from skillopt_cli.benchmarks.alfworld.prompts import PROMPTS
from skillopt_cli.benchmarks.alfworld.tasks import FOLDER, Games
from skillopt_cli.benchmarks.kit.benchmark import EpisodeBenchmark
from skillopt_cli.benchmarks.kit.options import BenchmarkOptions
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.core.formatting import count
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Section, Task, TaskFile
from skillopt_cli.ports import BenchmarkRequest, Executor

_PACKAGES = ("textworld", "alfworld")


class AlfworldOptions(BenchmarkOptions):
    """The `env.*` keys of ALFWorld."""

    max_steps: int = Field(50, ge=1)
    """Answers a game lasts at most, those without a usable action included."""
    games_dir: str = FOLDER
    """Where `alfworld-download` put the games; unset, ~/.cache/alfworld."""


class Alfworld(EpisodeBenchmark[AlfworldOptions]):
    """ALFWorld games; see `ports.Interactive`."""

    name = "alfworld"
    prompts = PROMPTS
    needs = frozenset({"turns"})
    options_type = AlfworldOptions
    sample = Path(__file__).parent / "sample"
    extra = "alfworld"

    def __init__(self, request: BenchmarkRequest) -> None:
        super().__init__(request)
        self.max_turns = self.options.max_steps
        self.version = f"2-{self.max_turns}"
        self._games = Games(self.options.games_dir)
        self._engine = GameEngine()

    @classmethod
    def missing(cls) -> str:
        """Packages of the extra that are not installed; "" when all are."""
        absent = [name for name in _PACKAGES if find_spec(name) is None]
        return f"the packages {' and '.join(absent)}" if absent else ""

    def files(self, task: Task) -> Sequence[TaskFile]:
        """The game file of a task, if it has one; see `ports.Filed`."""
        return self._games.files(task)

    def read_at(self, files: Sequence[TaskFile]) -> None:
        """See `ports.Filed`."""
        self._games.read_at(files)

    def task(self, record: Record) -> Task:
        """Goal, household and walkthrough, or a game file."""
        return self._games.task(record)

    def content(self, task: Task) -> Iterable[str]:
        """Household and goal, or the digest of the game file."""
        data = task.data
        return [json.dumps(data.get("digest") or [data["task"], data["household"]])]

    def sections(self, task: Task) -> Sequence[Section]:
        """The goal; room and admissible actions are shown by the game itself."""
        return [Section("Task", task.data["task"])]

    @asynccontextmanager
    async def episode(self, task: Task, executor: Executor) -> AsyncIterator[GameEpisode]:
        """A game of its own, opened when the first word is needed."""
        async with AsyncExitStack() as stack:

            async def begin() -> Game:
                sent = await self._games.content(task)
                return await stack.enter_async_context(self._engine.play(sent))

            yield GameEpisode(task.data["task"], self.max_turns, begin)

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        """The game's walkthrough, played."""
        answer = ""
        async with self.episode(task, executor) as episode:
            for action in await self._games.walkthrough(task):
                answer = f"<action>{action}</action>"
                await episode.hear(answer)
            return Attempt(answer, outcome=await episode.outcome(answer))

    def given_up(self, task: Task, attempt: Attempt) -> Score:
        """The score of the game, whatever the last reply was."""
        return self.score_attempt(task, attempt)

    def score_attempt(self, task: Task, attempt: Attempt) -> Score:
        """1 for a game that is won, else 0."""
        left = attempt.outcome
        if left.get("won"):
            return Score(1.0, 1.0)
        if not left.get("steps"):
            return Score(0.0, 0.0, "the task was not done: no step was taken")
        parts = [f"the task was not done in {count(left['steps'], 'step')}"]
        if left["unusable"]:
            parts.append(f"{count(left['unusable'], 'answer')} held no action between the tags")
        if left["idle"]:
            parts.append(f"{count(left['idle'], 'action')} could not be done and changed nothing")
        return Score(0.0, 0.0, "; ".join(parts))


SPEC = Alfworld.spec(
    "household tasks played in text, step by step (won or not)",
    modality=("text", "turns"),
    cpus=0.5,
    memory_mb=1500,
    sizes=COUNTS,
    prepare=prepare,
)
