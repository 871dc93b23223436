"""The player of text games: it chooses by the words of the task and the message before it."""

from __future__ import annotations

import pytest

from skillopt_cli.backends.simulated.solvers import solve
from skillopt_cli.backends.simulated.solvers.text_games import Scene, choose, solve_text_game
from skillopt_cli.backends.simulated.world import family_of, harm, needed
from skillopt_cli.core.task import ChatRequest, Message

TASK = "put a hot egg in fridge"
ROOM = ("go to cabinet 1", "go to fridge 1", "go to microwave 1", "inventory", "look")


def message(observation: str, actions: tuple[str, ...], past: str = "", task: str = TASK) -> str:
    listed = "\n".join(f"- {action}" for action in actions)
    told = f"## Past\n{past}\n\n" if past else ""
    return (
        f"## Task\n{task}\n\n{told}## Observation\n{observation}\n\n## Admissible actions\n{listed}"
    )


@pytest.mark.parametrize(
    ("observation", "actions", "past", "chosen"),
    [
        ("You see a cabinet 1.", ROOM, "", "go to cabinet 1"),
        (
            "You arrive at cabinet 1. The cabinet 1 is closed.",
            ("go to fridge 1", "go to microwave 1", "look", "open cabinet 1"),
            "",
            "open cabinet 1",
        ),
        (
            "You open the cabinet 1. In it, you see a egg 1, and a mug 1.",
            (*ROOM[1:], "take egg 1 from cabinet 1", "take mug 1 from cabinet 1"),
            "",
            "take egg 1 from cabinet 1",
        ),
        ("You open the cabinet 1. In it, you see nothing.", ROOM[1:], "", "go to fridge 1"),
        (
            "You pick up the egg 1 from the cabinet 1.",
            (*ROOM[1:], "move egg 1 to cabinet 1"),
            "",
            "go to microwave 1",
        ),
        (
            "You arrive at microwave 1. The microwave 1 is closed.",
            ("go to cabinet 1", "go to fridge 1", "heat egg 1 with microwave 1"),
            "You pick up the egg 1 from the cabinet 1.",
            "heat egg 1 with microwave 1",
        ),
        (
            "You heat the egg 1 using the microwave 1.",
            ("go to cabinet 1", "go to fridge 1", "heat egg 1 with microwave 1"),
            "",
            "go to fridge 1",
        ),
        (
            "You open the fridge 1. In it, you see nothing.",
            ("close fridge 1", "go to cabinet 1", "move egg 1 to fridge 1"),
            "You heat the egg 1 using the microwave 1.",
            "move egg 1 to fridge 1",
        ),
    ],
)
def test_the_next_step_is_chosen(
    observation: str, actions: tuple[str, ...], past: str, chosen: str
) -> None:
    assert choose(Scene.of(message(observation, actions, past))) == chosen


def test_a_lamp_that_the_task_names_is_switched_on_once() -> None:
    task = "look at mug under the desklamp"
    actions = ("go to bed 1", "look", "use desklamp 1")
    seen = message("You arrive at desk 1. On it, you see a desklamp 1.", actions, task=task)
    assert choose(Scene.of(seen)) == "use desklamp 1"
    seen = message("You turn on the desklamp 1.", actions, "You arrive at desk 1.", task)
    assert choose(Scene.of(seen)) == "go to bed 1"


def test_it_plays_by_the_rules_of_the_tasks_family() -> None:
    task = next(text for n in range(99) if needed(family_of(text := f"put {n} mugs on the bed")))
    asked = message("You see a bed 1.", ("go to bed 1", "look"), task=task)

    def reply(skill: str) -> str:
        request = ChatRequest((Message("system", skill), Message("user", asked)), "rollout")
        replied = solve(request)
        assert replied is not None
        assert replied == solve_text_game(request)
        return replied.text

    family = family_of(task)
    taught = "\n".join(needed(family))
    assert reply(taught).endswith("<action>go to bed 1</action>")
    assert "<action>" not in reply("Play well.")
    assert "<action>" not in reply(f"{taught}\n{harm(family)}")
