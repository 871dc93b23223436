"""Text games: chooses one of the admissible actions by the words of the task.

Each choice depends on one message alone. Unless the skill holds the rules of the task's family, the
reply describes a plan and names no action.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt_cli.backends.simulated.messages import sections, system_text
from skillopt_cli.backends.simulated.world import untaught
from skillopt_cli.core.task import ChatReply, ChatRequest

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
    """The content of a message.

    Attributes:
        seen: recent observations, the present one last.
    """

    words: frozenset[str]
    seen: str
    actions: Sequence[str]

    @classmethod
    def of(cls, message: str) -> Scene:
        """Parse a message."""
        parts = sections(message)
        actions = [line.removeprefix("- ") for line in parts["Admissible actions"].splitlines()]
        seen = f"{parts.get('Past', '')}\n{parts['Observation']}"
        return cls(frozenset(re.findall(r"\w+", parts["Task"].lower())), seen, actions)

    def first(self, pattern: str) -> str:
        """Return the first action with this beginning; "" for none."""
        return next((action for action in self.actions if re.match(pattern, action)), "")


def solve_text_game(request: ChatRequest) -> ChatReply | None:
    """Return an action between tags, or none; None where no admissible actions are listed."""
    if _ACTIONS not in request.messages[-1].content:
        return None
    message = request.messages[-1].content
    if untaught(sections(message)["Task"], system_text(request)):
        return ChatReply("I would look around first and then see what can be done.")
    chosen = choose(Scene.of(message))
    return ChatReply(f"<think>One step nearer.</think><action>{chosen}</action>")


def choose(scene: Scene) -> str:
    """Return the most useful action."""
    return _deliver(scene) if _holding(scene) else _find(scene)


def _holding(scene: Scene) -> bool:
    found = _HELD.findall("\n".join([scene.seen, *scene.actions]))
    if not any(name.split()[0] in scene.words for pair in found for name in pair if name):
        return False
    # A thing put down last is not held.
    return scene.seen.rfind("You move the") <= scene.seen.rfind("You pick up the")


def _find(scene: Scene) -> str:
    """Take a thing that the task names from where it does not belong, else explore."""
    for action in scene.actions:
        taken = re.match(r"take (\w+) \d+ from (\w+) \d+", action)
        if taken and taken[1] in scene.words and taken[2] not in scene.words:
            return action
    return _explore(scene)


def _deliver(scene: Scene) -> str:
    """Change the thing if the task asks for it, then move it to its destination."""
    for word, (change, appliance) in _CHANGES.items():
        if word in scene.words and f"You {change} the" not in scene.seen:
            return scene.first(f"{change} ") or scene.first(f"go to {appliance}")
    for wanted in (r"move \w+ \d+ to (\w+)", r"open (\w+)", r"go to (\w+)"):
        for action in scene.actions:
            if (place := re.match(wanted, action)) and place[1] in scene.words:
                return action
    return _explore(scene)


def _explore(scene: Scene) -> str:
    """Use a lamp that the task names, open a closed container here, else go to the next place."""
    for action in scene.actions:
        if action.startswith("use ") and action.split()[1] in scene.words:
            lamp = action.removeprefix("use ")
            if f"the {lamp}." not in scene.seen:
                return action
    here = (_ARRIVED.findall(scene.seen) or [""])[-1]
    if here and (opening := scene.first(f"open {here}")):
        return opening
    seen = {match[1] for action in scene.actions if (match := _PLACE.match(action))}
    places = sorted(seen | {here} - {""})
    following = places[(places.index(here) + 1) % len(places)] if here else places[0]
    return scene.first(f"go to {following}") or scene.actions[0]
