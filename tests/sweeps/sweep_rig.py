"""A sweep without runs: a crew that ends them as it is told, and views made up for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillopt_cli.config import RunConfig
from skillopt_cli.core.events import BaselineMeasured, RunFailed, RunFinished, RunStarted
from skillopt_cli.core.ledger import Ledger, Spent
from skillopt_cli.runlog.parts import Standing
from skillopt_cli.runlog.view import RunView
from skillopt_cli.sweeps.runner import EndedRun
from skillopt_cli.sweeps.trials import Trial, with_run

STARTED = RunStarted("r", "b", 0, 4, 1, "o", "t", "d", 1, 1, 1, "hard", None, None)
BASELINE = BaselineMeasured(0.5, 0.5, 0.5, 4, 4)


def trial(name: str, seed: int | None = None, **run: object) -> Trial:
    config = RunConfig(env={"name": "b"})  # type: ignore[arg-type]
    return Trial((("a.b", name),), seed, name, with_run(config, **run))


def view(calls: int = 0, best: float = 0.5, ending: object = None, done: int = 0) -> RunView:
    spent = Spent(calls=calls)
    ledger = Ledger({("target", "rollout"): spent}, spent)
    return RunView(
        run=STARTED, baseline=BASELINE, ledger=ledger, ending=ending,  # type: ignore[arg-type]
        standing=Standing(best, best), done=done,
    )  # fmt: skip


def finished(calls: int = 0, best: float = 0.5) -> RunView:
    return view(calls, best, RunFinished(4, 1, best, 0))


def stopped(calls: int, code: int, cap: str = "") -> RunView:
    return view(calls, ending=RunFailed("X", "stopped", "", code, resumable=True, reached=cap))


@dataclass
class Rig:
    """A crew whose runs need calls and end when it is waited for, and the folders they leave.

    Attributes:
        needs: calls a run needs to finish, by name.
        begun: names and `max_calls` of the runs begun, in their order.
        together: most runs at work at a time.
        at_once: whether what begins has a baseline at once.
    """

    slots: int = 1
    needs: dict[str, int] = field(default_factory=dict)
    views: dict[str, RunView] = field(default_factory=dict)
    begun: list[tuple[str, float | None]] = field(default_factory=list)
    told: list[tuple[str, str]] = field(default_factory=list)
    together: int = 0
    on_wait: Callable[[], None] = lambda: None
    codes: dict[str, int] = field(default_factory=dict)
    _at_work: list[Trial] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)

    def read(self, folder: Path) -> RunView:
        return self.views.get(folder.name, RunView())

    def start(self, trial: Trial) -> None:
        self.begun.append((trial.run_id, trial.config.run.max_calls))
        self._at_work.append(trial)
        self.together = max(self.together, len(self._at_work))
        self.views[trial.run_id] = replace(self.read(trial.folder), run=STARTED)

    def wait(self) -> Sequence[EndedRun]:
        self.on_wait()
        over = self._at_work.pop(0)
        return [self._end(over)]

    def stop(self, trial: Trial) -> None:
        self.stopped.append(trial.run_id)

    def skipped(self, runs: int) -> None:
        self.told.append(("kept", str(runs)))

    def run(self, what: str, trial: Trial, view: RunView, message: str = "") -> None:
        self.told.append((what, trial.run_id))

    def _end(self, over: Trial) -> EndedRun:
        name, limit = over.run_id, over.config.run.max_calls
        need = self.needs.get(name, 10)
        if name in self.stopped:
            self.views[name] = stopped(need // 2, 130)
            return EndedRun(over, 130, "stopped by the user")
        if code := self.codes.get(name):
            self.views[name] = stopped(1, code)
            return EndedRun(over, code, "it failed")
        if limit is not None and need > limit:
            self.views[name] = stopped(int(limit), 5, "max_calls")
            return EndedRun(over, 5, "a cap was reached")
        self.views[name] = finished(need)
        return EndedRun(over)
