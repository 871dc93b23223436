"""The event bus: stamps each fact with number and time, and passes it on in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillopt_cli.core.errors import SkillOptError
from skillopt_cli.core.events import RunEvent, Stamped, SubscriberDropped
from skillopt_cli.core.secrets import Hide, hidden


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A receiver of every fact. `name` is how the log calls one that failed."""

    name: str
    hear: Callable[[Stamped], None]


class Bus:
    """Fans facts out: collaborators first, then observers, each in the order given.

    Collaborators, such as the store, belong to the run: what one raises ends it. Observers, such as
    a display, cannot harm it: one that raises is dropped, which is itself a fact.

    Args:
        clock: Unix time in seconds.
        first_number: number of the next fact; one more than the last one in the log.
        hide: returns a text without any secret in it: errors have the words of foreign code.
    """

    def __init__(
        self,
        collaborators: Sequence[Subscriber],
        observers: Sequence[Subscriber],
        clock: Callable[[], float],
        first_number: int = 1,
        hide: Hide = str,
    ) -> None:
        self._collaborators = tuple(collaborators)
        self._observers = list(observers)
        self._clock = clock
        self._next = first_number
        self._hide = hide

    def emit(self, event: RunEvent) -> None:
        """Pass `event` on to all subscribers.

        Raises:
            Exception: whatever a collaborator raised; those after it do not hear the fact.
        """
        fact = Stamped(self._next, self._clock(), hidden(event, self._hide))
        self._next += 1
        for collaborator in self._collaborators:
            collaborator.hear(fact)
        dropped: list[SubscriberDropped] = []
        for observer in tuple(self._observers):
            try:
                observer.hear(fact)
            # Whatever is wrong with it, the run goes on.
            except Exception as error:
                self._observers.remove(observer)
                dropped.append(_drop(observer.name, error))
        for drop in dropped:
            self.emit(drop)


def _drop(name: str, error: Exception) -> SubscriberDropped:
    if isinstance(error, SkillOptError):
        return SubscriberDropped(name, error.message, error.hint)
    return SubscriberDropped(name, f"{type(error).__name__}: {error}")
