"""Tasks that show nothing of the arms, and tasks that leak."""

from __future__ import annotations

from skillopt_cli.core.repeats import Repeated
from skillopt_cli.core.score import BROKEN, Mark
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task_lint import TaskText, lint_tasks, quotes

RIGHT, WRONG = Mark(1.0, 1.0), Mark(0.0, 0.0)
FORM = "Read the text below with great care and then answer the question that follows it."
STORIES = (
    "The old mill by the river was built in 1821 by the brothers Anders and Nils Holm.",
    "Copper is mined in the valley since the Romans left, mostly by hand and by night.",
    "Every spring the ferry crosses the strait twice a day, weather and ice permitting.",
    "A library without a catalogue is a heap of paper, as the first keeper liked to say.",
    "Two comets were seen above the harbour in the year that the lighthouse was finished.",
    "Bread was baked in the yard until the oven cracked during the coldest of all winters.",
)


def tasks(*stories: str, split: str = "train") -> list[TaskText]:
    return [TaskText(f"{split}-{i}", split, f"{FORM}\n{s}") for i, s in enumerate(stories)]


def arm(text: str = "s\n", **draws: tuple[Mark, ...]) -> Repeated:
    return Repeated(SkillDocument(text), draws)


def test_tasks_that_do_not_tell_the_arms_apart_and_flaky_ones() -> None:
    first = arm(a=(RIGHT, RIGHT), b=(WRONG, BROKEN), c=(RIGHT, WRONG), d=(RIGHT, RIGHT))
    second = arm(a=(RIGHT, BROKEN), b=(WRONG, WRONG), c=(WRONG, RIGHT), d=(WRONG, WRONG))
    found = lint_tasks({"x": first, "y": second}, ())
    assert found.passed == ("a",)
    assert found.failed == ("b",)
    assert found.flaky == {"c": ("x", "y")}


def test_a_task_that_only_broke_is_neither() -> None:
    found = lint_tasks({"x": arm(a=(BROKEN,))}, ())
    assert (found.passed, found.failed, found.flaky) == ((), (), {})


def test_a_planted_passage_is_found_and_an_honest_rule_is_not() -> None:
    texts = tasks(*STORIES)
    planted = f"# S\n\n- Remember: {STORIES[4].upper()}\n"
    (quote,) = quotes("best", planted, texts)
    assert (quote.arm, quote.task, quote.split) == ("best", "train-4", "train")
    assert quote.passage == "two comets were seen above the harbour in"
    honest = f"# S\n\n- {FORM}\n- The mill was built by brothers; give the year alone.\n"
    assert list(quotes("best", honest, texts)) == []
