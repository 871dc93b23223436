"""Which tasks and which models a run uses, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skillopt_cli.core.companion_files import EDITABLE_WORDS, SKILL_FILE
from skillopt_cli.core.events import RunStarted
from skillopt_cli.core.formatting import count
from skillopt_cli.core.statistics import SMALL, resolution_words
from skillopt_cli.plugins import OWN_TASKS, SIMULATED
from skillopt_cli.runlog.text.format import one_line


def data_words(run: RunStarted) -> str:
    """Where the tasks come from and, for a training, how many of each split it uses."""
    used = used_words(run)
    return f"{one_line(run.data)}{f'; used: {used}' if used else ''}"


def used_words(run: RunStarted) -> str:
    """How many tasks of each split a training uses; empty for an evaluation, which uses one."""
    if not run.total_steps:
        return ""
    return f"train {run.n_train}, selection {run.n_selection}, test {run.n_test}"


def models_words(run: RunStarted) -> str:
    """Who plays each role that the run has: `target a, optimizer b, judge c`."""
    roles = {
        "target": run.target,
        "optimizer": run.optimizer if run.total_steps else "",
        "judge": run.judge,
    }
    return ", ".join(f"{role} {one_line(name)}" for role, name in roles.items() if name)


def skill_words(run: RunStarted) -> str:
    """The skill that an evaluation measures, with its first line; empty where it is not known."""
    if run.skill is None:
        return ""
    title = f" (first line: {one_line(run.skill_title)})" if run.skill_title else ""
    return f"{one_line(run.skill)}{title}" if run.skill else "an empty text"


def start_notes(run: RunStarted) -> Iterator[str]:
    """What to know before reading the scores of a run."""
    if note := simulated_note(run):
        yield note
    if n := run.read_only:
        yield (
            f"{count(n, 'file')} beside {SKILL_FILE} {'is' if n == 1 else 'are'} read-only;"
            f" {EDITABLE_WORDS}"
        )
    if note := resolution_note(run):
        yield note


def drift_words(changes: Sequence[str]) -> str:
    """That a run was continued although its conditions had changed, and which of them."""
    return f"Continued although this had changed: {'; '.join(map(one_line, changes))}"


def simulated_note(run: RunStarted) -> str:
    """What simulated models do not show on own tasks; empty where none is, and on other tasks."""
    if run.benchmark != OWN_TASKS:
        return ""
    work = {
        "scores": run.target,
        "edits": run.optimizer if run.total_steps else "",
        "verdicts": run.judge,
    }
    shown = [what for what, name in work.items() if name.split("/")[0] == SIMULATED]
    if not shown:
        return ""
    whole = " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
    return f"the simulated model only plays at being one: on own tasks its {whole} show nothing"


def families_note(run: RunStarted) -> str:
    """What "(family 8)" in an edit means; empty where no simulated optimizer proposes edits."""
    if not run.total_steps or run.optimizer.split("/")[0] != SIMULATED:
        return ""
    return (
        "the simulated model puts each task in a numbered family; tasks of family 8 are right only"
        ' under a skill that has the line marked "(family 8)"'
    )


def resolution_note(run: RunStarted) -> str:
    """What a small selection split can resolve, and where to read more; empty for a larger one."""
    n = run.n_selection
    if not run.total_steps or not 0 < n < SMALL:
        return ""
    own = run.benchmark == OWN_TASKS
    named = (
        "`skillopt data check` with these tasks"
        if own
        else f"`skillopt data check {one_line(run.benchmark)}`"
    )
    words = resolution_words(n, "accepted gain", graded=run.metric != "hard")
    return f"{count(n, 'selection task')}: {words}; see {named}"
