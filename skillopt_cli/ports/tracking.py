"""The seam to trackers: where the numbers of a run are sent while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class StageTime:
    """A stage that ended. Times are Unix seconds.

    Attributes:
        attempts, broken, recalled: attempts that ended in it; how many of them have no score, and
            how many the journal had.
    """

    stage: str
    label: str
    began: float
    ended: float
    attempts: int = 0
    broken: int = 0
    recalled: int = 0


@dataclass(frozen=True, slots=True)
class Point:
    """The numbers of a recorded step; step 0 is the seed. Times are Unix seconds.

    Attributes:
        values: the numbers of the step's record in `history.json`, under the same names, those of
            nested ones joined by `/`; a truth value is 0 or 1, a list counts its members.
        texts: the texts of that record, such as `action`.
    """

    step: int
    began: float
    ended: float
    values: Mapping[str, float]
    texts: Mapping[str, str] = field(default_factory=dict)
    stages: tuple[StageTime, ...] = ()


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """A run, as a tracker receives it when a process begins or resumes it.

    Attributes:
        identity: 32 hexadecimal digits; the same for all processes of the run, for no other run.
        began: when this process did, in Unix seconds.
        folder: where the tracker may keep files of this run; it may not exist yet.
        home: a folder for what several runs share; both paths are absolute.
        settings: the configuration by section, without any key.
        environment: the variables its library reads, the real environment over `.env`.
    """

    identity: str
    name: str
    benchmark: str
    began: float
    folder: Path
    home: Path
    settings: Mapping[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Closing:
    """How a process of a run ended.

    Attributes:
        step: steps recorded.
        time: in Unix seconds.
        status: as in `summary.json`: finished, stopped_early, budget, interrupted or failed.
        values: the numbers of `summary.json`, named as those of a `Point`.
        files: what the run leaves for people: skill, configuration, history and summary.
        stages: those of the process that belong to no recorded step, such as the tests.
    """

    step: int
    time: float
    status: str
    exit_code: int
    values: Mapping[str, float]
    files: tuple[Path, ...] = ()
    stages: tuple[StageTime, ...] = ()


@dataclass(frozen=True, slots=True)
class Server:
    """Where a tracker sends to over HTTP.

    Attributes:
        url: of any page there; whatever it answers, it is there.
        variable: the name of the one that names it.
    """

    url: str
    variable: str


class Tracker(Protocol):
    """Keeps or sends a run's numbers. It has a process of its own and may take its time.

    Whatever it raises drops it for the rest of the run's process; the run goes on.
    """

    @property
    def place(self) -> str:
        """Where the numbers go; in another place none of the earlier ones are taken for sent."""
        ...

    def record(self, point: Point) -> None:
        """Take a step, in order.

        When a process is killed at the wrong moment, the next one sends its last step again.
        """
        ...

    def close(self, closing: Closing) -> None:
        """Take the ending, and wait until everything is where it belongs."""
        ...


@dataclass(frozen=True, slots=True)
class TrackerSpec:
    """What an entry point of the group `skillopt.trackers` holds.

    Attributes:
        open: begins a run, or takes up the one of the same identity; called in that process.
        extra: the pip extra that brings its packages, if any.
        missing: what of those is absent on this machine; empty when ready.
        variables: beginnings of the names of the variables its library reads; keys under other
            names are kept from it.
        calm: values for some of these, unless they are set, that keep it from reporting on itself.
        look: where the numbers of a run went and what shows them, in words; empty where there is
            nothing to report. Imports no library.
        server: which one it sends to, by its variables; None for none, or one not known. A server
            that does not answer is reported at once, and the run's end does not wait for it.
        speaks: whether it is asked, by its variables, to write on standard error.
    """

    name: str
    summary: str
    open: Callable[[TrackedRun], Tracker]
    extra: str = ""
    missing: Callable[[], str] = lambda: ""
    variables: tuple[str, ...] = ()
    calm: Mapping[str, str] = field(default_factory=dict)
    look: Callable[[TrackedRun], str] = lambda run: ""
    server: Callable[[Mapping[str, str]], Server | None] = lambda environment: None
    speaks: Callable[[Mapping[str, str]], bool] = lambda environment: False
