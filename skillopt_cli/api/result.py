"""`RunResult`: the results of a run, read from its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt_cli.api.arguments import checked
from skillopt_cli.api.tables import rows_of, table_of, tasks_to_export
from skillopt_cli.compose.run_folder import find_run
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.core.events import Means, RunFinished, SkillPruned
from skillopt_cli.core.ledger import Spent
from skillopt_cli.reports.evaluation import evaluation_of
from skillopt_cli.reports.export.answers import AnswerRow, read_answers
from skillopt_cli.runlog.parts import StepView
from skillopt_cli.runlog.run_log import read_view
from skillopt_cli.runlog.summary import Status, status, summarise
from skillopt_cli.runlog.verdict import Verdict, verdict_of
from skillopt_cli.runlog.view import RunView
from skillopt_cli.safe_files import read_regular, read_text
from skillopt_cli.store.layout import EVALUATION

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class SplitScore:
    """The scores of one text on one split.

    Attributes:
        hard, soft: means over the scored tasks, in [0, 1]; None when no task was scored.
        n: tasks attempted.
        scored: tasks among them with a score; broken attempts have none.
        digest: identifies the text; empty where the log does not name it.
    """

    hard: float | None
    soft: float | None
    n: int
    scored: int
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of one training step.

    Attributes:
        action: as in `history.json`: accept_new_best, accept, reject, indecisive, force_accept or
            skip_...; None while the step is unfinished.
        candidate: the candidate's score under the gate metric, or its upper bound where the
            measurement stopped early; None for a step without a measured candidate.
        incumbent: the score that it had to beat.
        edits: edits that are in the candidate.
    """

    step: int
    action: str | None
    candidate: float | None
    incumbent: float | None
    edits: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """The results of a run: texts, scores, decisions, costs.

    Attributes:
        folder: the run folder.
        status: running, finished, stopped_early, budget, interrupted or failed.
        best_skill: the text with the highest measured selection score; of an evaluation, empty.
        selection: scores on the selection split, by text: seed, best, final.
        test: scores on the test split, by text: seed, best, final, no_skill; of an evaluation, the
            scores of its split, by the split's name.
        decisions: one entry per step.
        spend: calls, tokens and US dollars of all processes of the run.
        summary: the content of `summary.json`.
    """

    folder: Path
    status: Status
    best_skill: str = field(repr=False)
    selection: Mapping[str, SplitScore]
    test: Mapping[str, SplitScore]
    decisions: tuple[Decision, ...]
    spend: Spent
    summary: Mapping[str, Any] = field(repr=False)
    _view: RunView = field(repr=False, compare=False)

    @property
    def finished(self) -> bool:
        """Whether the run reached its end; a run that did not can be resumed."""
        # A comparison with several targets has no ending: each target has a run of its own.
        ended = self._view.run is None and self.status == "finished"
        return ended or isinstance(self._view.ending, RunFinished)

    @property
    def is_evaluation(self) -> bool:
        """Whether the run measured skills instead of training one."""
        measured = self._view.run is not None and not self._view.total_steps
        return measured or self.evaluation is not None

    @property
    def evaluation(self) -> Mapping[str, Any] | None:
        """The content of `eval_summary.json`: arms, pairs, targets, lint; None for a training."""
        return evaluation_of(self.folder)

    @property
    def pruned(self) -> SkillPruned | None:
        """What pruning did with each block of the skill; None where nothing was pruned."""
        return self._view.pruned

    @property
    def verdict(self) -> Verdict | None:
        """Whether the training improved the skill; None for an evaluation, and before the end."""
        return verdict_of(self._view)

    @property
    def improved(self) -> bool:
        """Whether the best skill scored strictly better on the selection split than the seed."""
        return self._view.standing.best_step > 0

    def tasks(self) -> list[dict[str, Any]]:
        """One row per attempt: step, stage, label, task, state, hard and soft score.

        `stage` is rollout (train tasks), measure (selection tasks) or test; attempts of other
        stages, such as the trials of edits, have no row. `step` is 0 outside steps; `label` is the
        skill that a test is of, such as seed or best; `state` is right, failed or broken; the
        scores of a broken attempt are None. Texts and answers are in `table`.
        """
        return [
            {
                "step": round_.step,
                "stage": round_.stage,
                "label": round_.label,
                "task": outcome.task,
                "state": outcome.state,
                "hard": outcome.hard,
                "soft": outcome.soft,
            }
            for round_ in self._view.rounds
            for outcome in round_.outcomes
        ]

    @checked
    def table(self, what: str = "tasks", *, split: str | None = None) -> list[dict[str, Any]]:
        """The rows of a table of `skillopt runs export`, by the names of its columns.

        Args:
            what: tasks, each with its input, the expected answers, and the answer and scores of
                each skill; or kinds, labels or confusions.
            split: train, selection or test; None for those on which skills are compared.

        Raises:
            UsageError: there is no such table or split, nothing of it was attempted, or the run is
                an evaluation with several targets.
        """
        return rows_of(table_of(tasks_to_export(self._view, self.folder, split), what))

    def history(self) -> list[dict[str, Any]]:
        """The content of `history.json`: one record per finished step."""
        path = self.folder / "history.json"
        return json.loads(read_regular(path)) if path.is_file() else []

    @checked
    def edits(self, step: int) -> list[dict[str, Any]]:
        """The content of a step's `edit_report.json`: one record per proposed edit, in order.

        Each has its `index`, the `state` it ended in and the `reason`, its `op`, `target`,
        `content`, `support`, `source` and `evidence`, and where there are any its `file`, `tasks`
        and `trial`. A step that proposed nothing has none.

        Raises:
            UsageError: the run has no such step, or `step` is no whole number.
            DataError: the report cannot be read.
        """
        numbers = [decision.step for decision in self.decisions]
        if step not in numbers:
            known = f"its steps are 1 to {max(numbers)}" if numbers else "no step of it has begun"
            raise UsageError(f"{self.folder} has no step {step}", known)
        path = self.folder / "steps" / f"step_{step:04d}" / "edit_report.json"
        if not path.is_file():
            return []
        try:
            found = json.loads(read_regular(path))
        except (OSError, ValueError) as error:
            raise DataError(f"{path} is not an edit report", "restore it from a copy") from error
        return list(found)

    def answers(self) -> list[AnswerRow]:
        """One row per task that `answer` was given, in the order of the file; else none.

        Each has its `id`, `input`, `answer`, `reply` and `error`, None for what there is not; the
        error of a task that was left when the run ended early is `not attempted`.

        Raises:
            DataError: the rows cannot be read.
        """
        return read_answers(self.folder)

    def to_pandas(self) -> pd.DataFrame:
        """The attempts of `tasks()` as a data frame.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas as pd

        return pd.DataFrame(self.tasks(), columns=_COLUMNS)


_COLUMNS = ["step", "stage", "label", "task", "state", "hard", "soft"]


@checked
def load_run(run: str | Path, *, out_root: str | Path = "outputs") -> RunResult:
    """The result of a run, finished or not.

    Args:
        run: the run folder, or a run id below `out_root`.

    Raises:
        UsageError: there is no such run.
        DataError: its log cannot be read.
    """
    folder = find_run(str(run), Path(out_root))
    view = read_view(folder)
    of_targets = view.run is None and (folder / EVALUATION).is_file()
    best = folder / "best_skill.md"
    return RunResult(
        folder=folder,
        status="finished" if of_targets else status(view),
        best_skill=read_text(best) if best.is_file() else "",
        selection=_selection(view),
        test={
            label: SplitScore(test.hard, test.soft, test.n, test.scored, test.digest)
            for label, test in view.tests.items()
        },
        decisions=tuple(_decision(step) for step in view.steps),
        spend=view.spent,
        summary=summarise(view),
        _view=view,
    )


def _selection(view: RunView) -> dict[str, SplitScore]:
    scores = {}
    if base := view.baseline:
        tested = view.tests.get("seed")
        digest = tested.digest if tested else ""
        scores["seed"] = SplitScore(base.hard, base.soft, base.n, base.scored, digest)
    if saved := view.saved:
        for name, means in (("best", saved.best), ("final", saved.current)):
            if means is not None:
                scores[name] = _split_score(means)
    return scores


def _split_score(means: Means) -> SplitScore:
    return SplitScore(means.hard, means.soft, means.n, means.scored, means.digest)


def _decision(step: StepView) -> Decision:
    gate = step.gate.decision if step.gate else None
    return Decision(
        step=step.number,
        action=step.action,
        candidate=gate.candidate if gate else None,
        incumbent=gate.incumbent if gate else None,
        edits=sum(outcome.changed for outcome in step.outcomes),
    )
