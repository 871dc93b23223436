"""The looks at a test split that a run's log holds. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillopt_cli.core.events import RunStarted, StageStarted, TestMeasured

LookFact = RunStarted | StageStarted | TestMeasured
KINDS = ("run_started", "stage_started", "test_measured")
"""The kinds of facts that looks follow from."""


@dataclass(frozen=True, slots=True)
class SplitLook:
    """A measurement of one text on the test split.

    Attributes:
        time: in Unix seconds.
        run: the folder of the run; empty where the log alone is known.
        command: train, resume or eval.
        text: seed, best, final, no_skill or the name of an arm; of an evaluation of one skill its
            file.
        digest: identifies the text.
    """

    time: float
    run: str
    command: str
    target: str
    text: str
    digest: str
    hard: float | None
    soft: float | None
    scored: int
    n: int


@dataclass(frozen=True, slots=True)
class SplitLooks:
    """The looks of a run, oldest first.

    What a resume recalls from the journal is no further look, nor is what a replay repeats of a
    recorded run.

    Attributes:
        started: the start of its latest process.
        processes: how many there were.
        tested: whether test tasks were attempted.
    """

    looks: tuple[SplitLook, ...] = ()
    started: RunStarted | None = None
    processes: int = 0
    tested: bool = False

    @property
    def whole(self) -> bool:
        """Whether these are looks of an evaluation of all tasks, no test split by itself."""
        training = self.started is not None and self.started.total_steps > 0
        return bool(self.looks) and not self.tested and not training

    def after(self, event: LookFact, time: float) -> SplitLooks:
        """The looks after a fact of this time."""
        started = self.started
        match event:
            case RunStarted():
                return replace(self, started=event, processes=self.processes + 1)
            case StageStarted(stage="test") if not self.tested:
                return replace(self, tested=True)
            # An evaluation of another split states its score by the same fact.
            case TestMeasured() if (
                started
                and not started.replay
                and (self.tested or started.total_steps or event.label.rpartition("_")[2] == "all")
            ):
                look = self._look(started, event, time)
                known = {_score(each) for each in self.looks}
                return self if _score(look) in known else replace(self, looks=(*self.looks, look))
        return self

    def _look(self, started: RunStarted, made: TestMeasured, time: float) -> SplitLook:
        command = "resume" if self.processes > 1 else "train" if started.total_steps else "eval"
        return SplitLook(
            time=time,
            run="",
            command=command,
            target=started.target,
            text=started.skill or "no_skill" if made.label in ("eval", "all") else made.label,
            digest=made.digest,
            hard=made.hard,
            soft=made.soft,
            scored=made.scored,
            n=made.n,
        )


NO_LOOKS = SplitLooks()


def _score(look: SplitLook) -> tuple[object, ...]:
    return look.digest, look.target, look.hard, look.soft, look.scored
