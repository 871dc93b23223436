from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from skillopt_cli.core.events import Degraded, Stamped, StoppedEarly, SubscriberDropped
from skillopt_cli.core.secrets import Secrets
from skillopt_cli.engine.bus import Bus, Subscriber

EVENT = Degraded("here", "why")


def clock() -> Callable[[], float]:
    ticks = count(100)
    return lambda: float(next(ticks))


class Ear:
    def __init__(self, name: str, heard: list[tuple[str, Stamped]], fails_at: int = -1) -> None:
        self.name, self.heard, self.fails_at = name, heard, fails_at

    def __call__(self, fact: Stamped) -> None:
        self.heard.append((self.name, fact))
        if fact.number == self.fails_at:
            raise RuntimeError("no paper")

    @property
    def subscriber(self) -> Subscriber:
        return Subscriber(self.name, self)


def test_facts_are_stamped_and_told_in_order() -> None:
    heard: list[tuple[str, Stamped]] = []
    store, scribe = Ear("store", heard).subscriber, Ear("scribe", heard).subscriber
    screen = Ear("screen", heard).subscriber
    bus = Bus([store, scribe], [screen], clock(), 8)
    bus.emit(EVENT)
    bus.emit(StoppedEarly("done"))
    first, second = Stamped(8, 100.0, EVENT), Stamped(9, 101.0, StoppedEarly("done"))
    assert heard == [
        (name, fact) for fact in (first, second) for name in ("store", "scribe", "screen")
    ]


def test_no_fact_holds_a_secret_and_none_about_an_observer_does() -> None:
    heard: list[tuple[str, Stamped]] = []
    secret = "no paper"
    observer = Ear("screen", heard, 1).subscriber
    hide = Secrets({secret: "MINE"}).hide
    bus = Bus([Ear("store", heard).subscriber], [observer], clock(), 1, hide)
    bus.emit(Degraded("here", f"there is {secret}"))
    told = [fact.event for name, fact in heard if name == "store"]
    dropped = SubscriberDropped("screen", "RuntimeError: ***")
    assert told == [Degraded("here", "there is ***"), dropped]


def test_numbers_start_at_one() -> None:
    heard: list[tuple[str, Stamped]] = []
    Bus([Ear("store", heard).subscriber], [], clock()).emit(EVENT)
    assert heard[0][1].number == 1


def test_a_failing_collaborator_ends_the_run() -> None:
    heard: list[tuple[str, Stamped]] = []
    collaborators = [Ear("a", heard, 1).subscriber, Ear("b", heard).subscriber]
    bus = Bus(collaborators, [Ear("c", heard).subscriber], clock())
    with pytest.raises(RuntimeError, match="no paper"):
        bus.emit(EVENT)
    assert [name for name, _ in heard] == ["a"]
    bus.emit(EVENT)
    assert [(name, fact.number) for name, fact in heard[1:]] == [("a", 2), ("b", 2), ("c", 2)]


def test_a_failing_observer_is_dropped_once_and_everyone_is_told() -> None:
    heard: list[tuple[str, Stamped]] = []
    observers = [Ear("bad", heard, 1).subscriber, Ear("good", heard).subscriber]
    bus = Bus([Ear("store", heard).subscriber], observers, clock())
    bus.emit(EVENT)
    bus.emit(EVENT)
    dropped = SubscriberDropped("bad", "RuntimeError: no paper")
    assert [(name, fact.number) for name, fact in heard] == [
        ("store", 1),
        ("bad", 1),
        ("good", 1),
        ("store", 2),
        ("good", 2),
        ("store", 3),
        ("good", 3),
    ]
    assert [fact.event for name, fact in heard if name == "store"] == [EVENT, dropped, EVENT]


def test_all_observers_may_fail_even_at_the_news_of_a_failure() -> None:
    heard: list[tuple[str, Stamped]] = []
    observers = [Ear("x", heard, 1).subscriber, Ear("y", heard, 2).subscriber]
    bus = Bus([Ear("store", heard).subscriber], observers, clock())
    bus.emit(EVENT)
    bus.emit(EVENT)
    logged = [fact for name, fact in heard if name == "store"]
    assert [fact.number for fact in logged] == [1, 2, 3, 4]
    names = [f.event.name for f in logged if isinstance(f.event, SubscriberDropped)]
    assert names == ["x", "y"]


def test_an_interrupt_is_not_taken_for_a_broken_observer() -> None:
    def interrupted(fact: Stamped) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Bus([], [Subscriber("screen", interrupted)], clock()).emit(EVENT)
