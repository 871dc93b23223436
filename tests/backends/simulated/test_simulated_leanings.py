"""What the simulated optimizer is inclined to: how often it is right, does harm, and forgets."""

import json
from collections import Counter

import pytest

from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.backends.simulated.world import (
    FAMILIES,
    HARMFUL,
    USELESS,
    family_of,
    held,
    needed,
    rule,
)
from skillopt_cli.config.layers import assignment_layers, resolve
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.task import ChatRequest, Message
from skillopt_cli.testing import make_items

ITEMS = make_items(120, seed=7)
EMPTY = "# Skill\n\nAnswer.\n"
TAUGHT = EMPTY + "".join(f"- {rule(family)}\n" for family in range(FAMILIES))


async def edits(skill, item, kind="analyst_error", **options):
    """What an analyst proposes on one task."""
    user = (
        f"## Current skill\n{skill}\n\n## Trajectory 1: task `t` (x)\n"
        f"### Question\n{item['question']}\n### Answer\nwrong"
    )
    request = ChatRequest((Message("user", user),), "reflect", {}, kind)
    return json.loads((await Simulated(SimulatedConfig(**options)).chat(request)).text)["edits"]


async def kinds(**options):
    """How many lessons on tasks that need a rule are right, harmful and useless."""
    counts = Counter()
    for item in ITEMS:
        if needed(family_of(item["question"])):
            (edit,) = await edits(EMPTY, item, **options)
            sentence = edit["content"].removeprefix("- ").strip()
            counts[
                "harmful" if sentence in HARMFUL else "useless" if sentence in USELESS else "right"
            ] += 1
    return {kind: count / counts.total() for kind, count in counts.items()}


async def test_the_shares_are_those_asked_for():
    assert await kinds() == pytest.approx({"right": 0.6, "harmful": 0.2, "useless": 0.2}, abs=0.12)
    assert await kinds(right_rate=1.0, harmful_rate=0.0) == {"right": 1.0}
    assert await kinds(right_rate=0.0, harmful_rate=1.0) == {"harmful": 1.0}
    assert await kinds(right_rate=0.0, harmful_rate=0.0) == {"useless": 1.0}


def test_shares_above_one_are_refused():
    wishes = ["model.simulated.right_rate=0.7", "model.simulated.harmful_rate=0.4"]
    with pytest.raises(ConfigError, match=r"right_rate.* more than 1 together"):
        resolve(assignment_layers(wishes))


@pytest.mark.parametrize("kind", ["analyst_error", "analyst_success"])
async def test_forgetting_deletes_a_rule_that_these_tasks_do_not_need(kind):
    assert not [e for e in await edits(TAUGHT, ITEMS[0], kind) if e["op"] == "delete"]
    for item in ITEMS[:30]:
        (gone,) = (
            e for e in await edits(TAUGHT, item, kind, forget_rate=1.0) if e["op"] == "delete"
        )
        (sentence,) = held(gone["target"])
        assert gone["target"] in TAUGHT
        assert sentence not in needed(family_of(item["question"]))
    only = EMPTY + "".join(f"- {s}\n" for s in needed(family_of(ITEMS[0]["question"])))
    assert not [e for e in await edits(only, ITEMS[0], kind, forget_rate=1.0) if e["target"]]


def test_a_fingerprint_names_what_is_not_at_its_default():
    plain = Simulated(SimulatedConfig()).fingerprint
    assert "_rate" not in plain.replace("malformed_rate", "")
    for options in ({"right_rate": 0.5}, {"harmful_rate": 0.0}, {"forget_rate": 0.5}):
        (name,) = options
        assert name in Simulated(SimulatedConfig(**options)).fingerprint
