"""Make the games of the bundled ALFWorld sample: invented households with a goal and a walkthrough.

    python docs/examples/samples/make_alfworld.py FOLDER

The same seed gives the same games. Each is solved by the engine's own planner, with ALFWorld's
domain, grammar, goals and wordings; one without a plan of a fitting length is thrown away.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from skillopt_cli.benchmarks.alfworld.engine import EngineFailed, GameEngine

SEED = 7
SIZES = {"train": 12, "val": 8, "test": 12}
SHORTEST, LONGEST = 3, 16

# Receptacles of a room, those that are always there first; and things that lie about in it.
ROOMS = {
    "kitchen": (
        ["CounterTop 1", "Cabinet 1", "Cabinet 2", "Fridge 1", "Microwave 1", "SinkBasin 1"],
        ["DiningTable 1", "Drawer 1", "Shelf 1", "GarbageCan 1"],
        [
            "Apple",
            "Bread",
            "Bowl",
            "Cup",
            "Egg",
            "Fork",
            "Knife",
            "Lettuce",
            "Mug",
            "Pan",
            "Plate",
            "Potato",
            "Spoon",
            "Tomato",
        ],
    ),
    "bedroom": (
        ["Bed 1", "Desk 1", "Drawer 1", "Drawer 2", "SideTable 1"],
        ["Dresser 1", "Shelf 1", "Shelf 2", "GarbageCan 1"],
        [
            "Book",
            "CD",
            "CellPhone",
            "CreditCard",
            "KeyChain",
            "Laptop",
            "Mug",
            "Pen",
            "Pencil",
            "Pillow",
            "Watch",
        ],
    ),
    "living room": (
        ["Sofa 1", "CoffeeTable 1", "SideTable 1", "Drawer 1", "ArmChair 1"],
        ["Cabinet 1", "Shelf 1", "GarbageCan 1"],
        [
            "Book",
            "Box",
            "CreditCard",
            "KeyChain",
            "Laptop",
            "Newspaper",
            "Pillow",
            "RemoteControl",
            "Statue",
            "Watch",
        ],
    ),
    "bathroom": (
        ["CounterTop 1", "Cabinet 1", "Cabinet 2", "SinkBasin 1", "Toilet 1"],
        ["Drawer 1", "Shelf 1", "GarbageCan 1"],
        ["Candle", "Cloth", "SoapBar", "SoapBottle", "SprayBottle", "TissueBox", "ToiletPaper"],
    ),
}
KINDS = {
    "pick_and_place_simple": ["kitchen", "bedroom", "living room", "bathroom"],
    "pick_two_obj_and_place": ["bedroom", "living room", "bathroom"],
    "look_at_obj_in_light": ["bedroom", "living room"],
    "pick_heat_then_place_in_recep": ["kitchen"],
    "pick_cool_then_place_in_recep": ["kitchen"],
    "pick_clean_then_place_in_recep": ["kitchen", "bathroom"],
}
ABILITY = {
    "pick_heat_then_place_in_recep": "Heatable",
    "pick_cool_then_place_in_recep": "Coolable",
    "pick_clean_then_place_in_recep": "Cleanable",
}
LAMP = "DeskLamp"


def draft(rng: Random, kind: str) -> dict[str, Any]:
    """A household and a goal of the kind, which need not be solvable."""
    from alfworld.gen.constants import VAL_ACTION_OBJECTS, VAL_RECEPTACLE_OBJECTS
    from alfworld.gen.goal_library import gdict

    always, more, things = ROOMS[rng.choice(KINDS[kind])]
    household: dict[str, list[str]] = {name: [] for name in [*always, *rng.sample(more, 2)]}
    able = VAL_ACTION_OBJECTS[ABILITY[kind]] if kind in ABILITY else things
    wanted = rng.choice([thing for thing in things if thing in able])
    fits = {
        thing: [place for place in household if thing in VAL_RECEPTACLE_OBJECTS[place.split()[0]]]
        for thing in things
    }
    target = rng.choice(fits[wanted]).split()[0]
    elsewhere = [place for place in fits[wanted] if place.split()[0] != target]
    copies = 2 if kind == "pick_two_obj_and_place" else 1
    for number in range(1, copies + 1):
        household[rng.choice(elsewhere or fits[wanted])].append(f"{wanted} {number}")
    for other in rng.sample([thing for thing in things if thing != wanted and fits[thing]], 4):
        household[rng.choice(fits[other])].append(f"{other} 1")
    goal = {"type": kind, "object": wanted}
    if kind == "look_at_obj_in_light":
        household["SideTable 1"].append(f"{LAMP} 1")
        goal["lamp"] = LAMP
    else:
        goal["receptacle"] = target
    wording = rng.choice(gdict[kind]["templates"])
    named = {"obj": wanted, "recep": target, "toggle": LAMP}
    task = wording.format(**{key: name.lower() for key, name in named.items()})
    return {"task": task, "goal": goal, "household": household}


async def games(engine: GameEngine) -> Iterator[dict[str, Any]]:
    """Enough solvable games, the kinds in turn."""
    rng, made, seen = Random(SEED), [], set[str]()
    kinds = list(KINDS)
    while len(made) < sum(SIZES.values()):
        game = draft(rng, kinds[len(made) % len(kinds)])
        if game["task"] in seen:
            continue
        try:
            async with engine.play({"household": game, "plan": True}) as play:
                plan = list(play.first.plan)
        except EngineFailed:  # how the planner says that there is no way
            continue
        if SHORTEST <= len(plan) <= LONGEST:
            seen.add(game["task"])
            made.append({**game, "walkthrough": plan})
    return iter(made)


def document(items: list[dict[str, Any]]) -> str:
    """A task file: one line for each part of a game."""
    shown = [
        ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in item.items())
        for item in items
    ]
    return "[\n" + ",\n".join(f" {{\n{text}\n }}" for text in shown) + "\n]\n"


def make(folder: Path) -> None:
    """Write train|val|test/items.json."""
    found = asyncio.run(games(GameEngine()))
    for split, size in SIZES.items():
        items = [{"id": f"{split}-{n:02d}", **next(found)} for n in range(1, size + 1)]
        path = folder / split / "items.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document(items), encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
