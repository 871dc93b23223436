"""A household written down in a few lines, made into a game of ALFWorld's own domain and grammar.

Imported in the engine's process only: what can be done with which thing is taken from `alfworld`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from alfworld.gen.constants import OPENABLE_CLASS_SET, VAL_ACTION_OBJECTS, VAL_RECEPTACLE_OBJECTS
from alfworld.gen.goal_library import gdict
from alfworld.info import ALFRED_PDDL_PATH, ALFRED_TWL2_PATH

GOAL_MARK = "UNKNOWN GOAL"
_ABILITIES = ("Heatable", "Coolable", "Cleanable", "Toggleable", "Sliceable")
_AGENT = "agent1"

Household = Mapping[str, Sequence[str]]
"""What lies where: things such as "Apple 1" by receptacle, such as "Cabinet 2"."""


def game_of(task: str, goal: Mapping[str, str], household: Household) -> dict[str, Any]:
    """The content of a game file.

    Args:
        task: the goal as the player reads it.
        goal: `type`, a name of ALFWorld's goal library, and the kinds of things it is about:
            `object`, `receptacle` and `lamp` as far as it needs them.
    """
    facts = "\n   ".join(_facts(household))
    wanted = gdict[goal["type"]]["pddl"].replace("#", "-")
    wanted = wanted.format(
        obj=goal["object"], recep=goal.get("receptacle"), toggle=goal.get("lamp"), mrecep=None
    )
    return {
        "pddl_domain": Path(ALFRED_PDDL_PATH).read_text(encoding="utf-8"),
        "grammar": Path(ALFRED_TWL2_PATH).read_text(encoding="utf-8").replace(GOAL_MARK, task),
        "pddl_problem": (
            "(define (problem household)\n (:domain alfred)\n"
            f" (:objects\n   {' '.join(_objects(household))}\n )\n"
            f" (:init\n   (= (total-cost) 0)\n   {facts}\n ){wanted}"
        ),
    }


def _objects(household: Household) -> Iterator[str]:
    things = [thing for inside in household.values() for thing in inside]
    yield f"{_AGENT} - agent"
    yield from (f"loc_{place} - location" for place in range(len(household) + 1))
    yield from (f"{_id(name)} - receptacle" for name in household)
    yield from (f"{_id(thing)} - object" for thing in things)
    yield from (f"{kind}Type - rtype" for kind in _kinds(household))
    yield from (f"{kind}Type - otype" for kind in _kinds(things))


def _facts(household: Household) -> Iterator[str]:
    yield f"(atLocation {_AGENT} loc_{len(household)})"
    for place, (name, inside) in enumerate(household.items()):
        yield f"(receptacleType {_id(name)} {_kind(name)}Type)"
        yield f"(receptacleAtLocation {_id(name)} loc_{place})"
        if _kind(name) in OPENABLE_CLASS_SET:
            yield f"(openable {_id(name)})"
        for thing in inside:
            yield f"(objectType {_id(thing)} {_kind(thing)}Type)"
            yield f"(inReceptacle {_id(thing)} {_id(name)})"
            yield f"(objectAtLocation {_id(thing)} loc_{place})"
            yield from (f"({ability} {_id(thing)})" for ability in _abilities(_kind(thing)))
    things = [thing for inside in household.values() for thing in inside]
    for holder in _kinds(household):
        held = VAL_RECEPTACLE_OBJECTS.get(holder, ())
        yield from (f"(canContain {holder}Type {k}Type)" for k in _kinds(things) if k in held)


def _abilities(kind: str) -> Iterator[str]:
    if kind not in VAL_ACTION_OBJECTS["Toggleable"]:  # lamps stay where they are
        yield "pickupable"
    yield from (name.lower() for name in _ABILITIES if kind in VAL_ACTION_OBJECTS[name])


def _kind(name: str) -> str:
    return name.split()[0]


def _kinds(names: Sequence[str] | Household) -> list[str]:
    return sorted({_kind(name) for name in names})


def _id(name: str) -> str:
    """The name as ALFWorld writes it, from which it makes the one that players read."""
    kind, number = name.split()
    # A basin is part of a sink.
    return f"Sink_bar_{number}_bar_SinkBasin" if kind == "SinkBasin" else f"{kind}_bar_{number}"
