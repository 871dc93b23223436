"""An attempt at an instance, and what became of its patch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillopt_cli.benchmarks.kit.programs import clipped
from skillopt_cli.benchmarks.kit.tools import ToolLoop
from skillopt_cli.benchmarks.swebench.patches import paths_of, without
from skillopt_cli.benchmarks.swebench.repositories import (
    LARGEST_PATCH,
    Checkout,
    Repositories,
    kept_apart,
    steers_tests,
)
from skillopt_cli.benchmarks.swebench.scoring import grade, read_log, status_of
from skillopt_cli.benchmarks.swebench.tools import Tools
from skillopt_cli.core.score import Private, Score
from skillopt_cli.core.task import Task

_LOG_LENGTH = 20_000


class RepairEpisode(ToolLoop):
    """The episode of an attempt, which works in a checkout with tools."""

    def __init__(
        self, task: Task, repositories: Repositories, checkout: Checkout, limit: float
    ) -> None:
        super().__init__(Tools(checkout, limit).offers)
        self._task = task
        self._repositories = repositories
        self._checkout = checkout

    async def outcome(self, answer: str) -> Mapping[str, Any]:
        """The patch, and the results of the tests."""
        changes = await self._checkout.changes()
        return await examined(self._task, self._repositories, changes.patch, changes.paths)


async def examined(
    task: Task, repositories: Repositories, patch: str, paths: tuple[str, ...] | None = None
) -> Mapping[str, Any]:
    """The results of the tests with a patch, as an attempt leaves them behind.

    Args:
        paths: the files it touches, where that is known better than from its text.

    Raises:
        EpisodeFailed: it cannot be found out through no fault of the patch.
    """
    data = task.data
    if len(patch) > LARGEST_PATCH:
        return {"patch": "", "refused": f"the patch is longer than {LARGEST_PATCH} characters"}
    shown = patch.encode(errors="surrogateescape").decode(errors="replace")
    left: dict[str, Any] = {"patch": shown}
    if not patch.strip():
        return {**left, "refused": "nothing was changed"}
    touched = kept_apart(sorted(paths_of(patch)) if paths is None else paths, data["test_patch"])
    if touched:
        return {**left, "refused": f"the patch touches {len(touched)} of the tests' own files"}
    # What the reference changes of how tests are run belongs to the task.
    own = paths_of(data["patch"])
    counted, steering = without(patch, lambda p: p not in own and steers_tests(p, data))
    left["steering"] = steering
    if not counted.strip():
        return {
            **left,
            "refused": "nothing was changed but how tests are run, which does not count",
        }
    tested = await repositories.tested(task, counted)
    if tested is None:
        return {**left, "refused": "the patch cannot be applied"}
    statuses = read_log(tested.text, tested.code)
    named = (*data["fail_to_pass"], *data["pass_to_pass"])
    known = {name: status for name in named if (status := status_of(name, statuses))}
    return {
        **left,
        "statuses": known,
        "late": tested.late,
        "log": clipped(tested.text, _LOG_LENGTH),
    }


def score_of(task: Task, outcome: Mapping[str, Any]) -> Score:
    """1 when every named test passes, else 0, as published; the tests themselves stay private."""
    data = task.data
    if "statuses" not in outcome:
        why = outcome.get("refused", "there is no patch")
        return Score(0.0, 0.0, f"swebench unresolved: {why}")
    found = grade(outcome["statuses"], data["fail_to_pass"], data["pass_to_pass"])
    if found.resolved and not outcome["late"]:
        return Score(1.0, 1.0)
    wrong = [*found.broken, *found.lost]
    private = Private("\n".join(["not passed:", *wrong, "", outcome["log"]]))
    failing = (
        f"{len(found.broken)} of {len(data['fail_to_pass'])} hidden tests of the fault fail, and"
        f" {len(found.lost)} of {len(data['pass_to_pass'])} tests that passed before"
    )
    late = "; the tests were killed at their time limit" if outcome["late"] else ""
    steering = "; changes to how tests are run do not count" if outcome["steering"] else ""
    return Score(0.0, 0.0, f"swebench unresolved: {failing}{late}{steering}", private=private)
