"""Cases and runs for the tests of the analyst."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from skillopt_cli.backends.completion_agent import completion_text
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson, Reflection
from skillopt_cli.core.task import Attempt, Brief, ChatRequest, Message, Section, Task
from skillopt_cli.optimizers.rules import STAGES
from skillopt_cli.optimizers.rules.case import Case
from skillopt_cli.optimizers.rules.layout import read_layout
from skillopt_cli.optimizers.rules.text import words
from skillopt_cli.testing import FunctionChat, Toy, ToyBenchmark, toy_run

TEXT = (
    "Ada Lum built the Old Mill in Brenna in May 1932; Tom Rask repaired it in 1950. "
    "It has four floors and is 27 metres high, and it grinds blue corn and rye."
)
SEED = SkillDocument("# Questions\n\nAnswer from the text.\n")


def brief(question: str = "Who built it?", text: str = TEXT) -> Brief:
    return Brief("t", "", (Section("Context", text), Section("Question", question)))


def case(given: str, *wanted: str, text: str = TEXT, **more: Any) -> Case:
    return Case(brief(text=text), given, wanted, True, source=words(text), **more)


def layout(skill: str = SEED.text):
    return read_layout(SkillDocument(skill), brief())


def trajectory(number: int, given: str, *wanted: str, text: str = TEXT) -> Trajectory:
    """An attempt in `Readings`, scored to the letter."""
    task = Task(f"t{number}", "qa", {"question": f"Question {number}?", "context": text})
    hard = float(given in wanted)
    asked = Message("user", completion_text(Readings().brief(task)))
    attempt = Attempt(given, (asked, Message("assistant", given)))
    return Trajectory(task, attempt, Score(hard, hard, expected=wanted))


class Readings(ToyBenchmark):
    """The toy benchmark with its answers changed by a function, split by split."""

    def __init__(self, change: Callable[[list[Task]], list[Task]] = list) -> None:
        super().__init__({"train": 24, "selection": 16, "test": 24})
        self._tasks = {split: tuple(change(list(tasks))) for split, tasks in self._tasks.items()}


def permuted(tasks: list[Task]) -> list[Task]:
    """Every task with the answers of another one."""
    answers = [task.data["answers"] for task in tasks]
    random.Random(3).shuffle(answers)
    return [with_answers(task, a) for task, a in zip(tasks, answers, strict=True)]


def in_sentences(tasks: list[Task]) -> list[Task]:
    """Every task with the sentence of its text that holds the answer as the reference."""
    return [with_answers(task, [statement(task)]) for task in tasks]


def statement(task: Task) -> str:
    [answer] = task.data["answers"]
    sentences = re.split(r"(?<=[.])\s+", task.data["context"])
    return next(s for s in sentences if answer in s)


def with_answers(task: Task, answers: list[str]) -> Task:
    return replace(task, data={**task.data, "answers": answers})


def reader(short_if: str, default_short: bool) -> FunctionChat:
    """A target that knows every answer and words it as it likes, until the skill says otherwise.

    Args:
        short_if: what the skill must hold for the other wording.
        default_short: whether it answers with the bare answer by itself, else in a sentence.
    """
    known: dict[str, Task] = {
        task.data["question"]: task
        for split in ("train", "selection", "test")
        for task in Readings().tasks(split)
    }

    def answer(request: ChatRequest) -> str:
        told = re.search(short_if, request.messages[0].content)
        short = default_short != bool(told)
        question = next((q for q in known if q in request.messages[-1].content), None)
        if question is None:
            return "ok"
        task = known[question]
        return task.data["answers"][0] if short else statement(task)

    return FunctionChat(answer)


def toy(benchmark: ToyBenchmark, target: FunctionChat, *settings: str) -> Toy:
    always = ("train.batch_size=12", "gradient.minibatch_size=6", "train.num_epochs=2")
    return Toy(settings=(*always, *settings), target=target, benchmark=benchmark, variants=STAGES)


async def reflected(
    trajectories: list[Trajectory],
    skill: SkillDocument = SEED,
    lessons: tuple[Lesson, ...] = (),
    *settings: str,
) -> Reflection:
    run = toy_run(toy(Readings(), reader("x", True), *settings))
    return await STAGES.reflect(run.at(run.plan.step(1)), skill, trajectories, lessons)
