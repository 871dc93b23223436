"""Plays text games: names one of the admissible actions, chosen by the words of the task.

It remembers nothing: each choice comes from one message. Where the skill lacks the rules that the
task's family needs, it talks about what it would do and names no action.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt_cli.backends.simulated.world import family_of, harm, missing
from skillopt_cli.core.task import ChatReply, ChatRequest

_SECTION = re.compile(r"^## +(.+?)[ \t]*\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ACTIONS = "## Admissible actions\n"
_PLACE = re.compile(r"go to (\w+ \d+)")
_ARRIVED = re.compile(r"You (?:arrive at|open the|close the|are facing the) (\w+ \d+)")
_HELD = re.compile(r"(?:move|heat|cool|clean) (\w+ \d+) (?:to|with)|You pick up the (\w+ \d+) from")
_CHANGES = {
    "heat": ("heat", "microwave"),
    "hot": ("heat", "microwave"),
    "cool": ("cool", "fridge"),
    "clean": ("clean", "sinkbasin"),
}


@dataclass(frozen=True, slots=True)
class Scene:
    """What a message says.

    Attributes:
        seen: what was observed lately, the present last.
    """

    words: frozenset[str]
    seen: str
    actions: Sequence[str]

    @classmethod
    def of(cls, message: str) -> Scene:
        """Read a message."""
        parts = {title: body.strip() for title, body in _SECTION.findall(message)}
        actions = [line.removeprefix("- ") for line in parts["Admissible actions"].splitlines()]
        seen = f"{parts.get('Past', '')}\n{parts['Observation']}"
        return cls(frozenset(re.findall(r"\w+", parts["Task"].lower())), seen, actions)

    def first(self, pattern: str) -> str:
        """The first action that begins like this; "" for none."""
        return next((action for action in self.actions if re.match(pattern, action)), "")


class ActionPlayer:
    """Knows a game by its list of admissible actions."""

    def plays(self, request: ChatRequest) -> bool:
        """Whether the last message lists admissible actions."""
        return _ACTIONS in request.messages[-1].content

    def play(self, request: ChatRequest) -> ChatReply:
        """An action between tags, or none."""
        system = "\n".join(m.content for m in request.messages if m.role == "system")
        message = request.messages[-1].content
        task = dict(_SECTION.findall(message))["Task"].strip()
        family = family_of(task)
        if missing(family, system) or harm(family) in system:
            return ChatReply("I would look around first and then see what can be done.")
        chosen = choose(Scene.of(message))
        return ChatReply(f"<think>One step nearer.</think><action>{chosen}</action>")


def choose(scene: Scene) -> str:
    """The action that seems to lead on."""
    return _deliver(scene) if _holding(scene) else _find(scene)


def _holding(scene: Scene) -> bool:
    found = _HELD.findall("\n".join([scene.seen, *scene.actions]))
    if not any(name.split()[0] in scene.words for pair in found for name in pair if name):
        return False
    # What was put down last is not held.
    return scene.seen.rfind("You move the") <= scene.seen.rfind("You pick up the")


def _find(scene: Scene) -> str:
    """Take a thing the task names from where it does not belong, else look further."""
    for action in scene.actions:
        taken = re.match(r"take (\w+) \d+ from (\w+) \d+", action)
        if taken and taken[1] in scene.words and taken[2] not in scene.words:
            return action
    return _explore(scene)


def _deliver(scene: Scene) -> str:
    """Change the thing if that is asked for, then bring it where it belongs."""
    for word, (change, appliance) in _CHANGES.items():
        if word in scene.words and f"You {change} the" not in scene.seen:
            return scene.first(f"{change} ") or scene.first(f"go to {appliance}")
    for wanted in (r"move \w+ \d+ to (\w+)", r"open (\w+)", r"go to (\w+)"):
        for action in scene.actions:
            if (place := re.match(wanted, action)) and place[1] in scene.words:
                return action
    return _explore(scene)


def _explore(scene: Scene) -> str:
    """Switch on a lamp the task names, open what is closed here, else go to the next place."""
    for action in scene.actions:
        if action.startswith("use ") and action.split()[1] in scene.words:
            lamp = action.removeprefix("use ")
            if f"the {lamp}." not in scene.seen:
                return action
    here = (_ARRIVED.findall(scene.seen) or [""])[-1]
    if here and (opening := scene.first(f"open {here}")):
        return opening
    places = sorted(_places(scene) | {here} - {""})
    following = places[(places.index(here) + 1) % len(places)] if here else places[0]
    return scene.first(f"go to {following}") or scene.actions[0]


def _places(scene: Scene) -> set[str]:
    return {match[1] for action in scene.actions if (match := _PLACE.match(action))}
