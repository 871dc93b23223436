"""How many edits each stage of a step let through, and why none came out at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from skillopt_cli.core.companion_files import EDITABLE_WORDS
from skillopt_cli.core.edits import CHANGED, EditOutcome, EditState
from skillopt_cli.core.formatting import count

Cause = Literal[
    "unscored",
    "all_solved",
    "unanswered",
    "no_evidence",
    "not_proposed",
    "leaked",
    "merged_away",
    "rate_is_zero",
    "vetoed",
    "unverified",
    "not_applied",
    "no_change",
]
_STATE_WORDS: Mapping[EditState, str] = {
    "no_op": "without effect",
    "over_budget": "above the learning rate",
    "not_selected": "not selected",
    "read_only": "read-only",
    "unverified": "failed verification",
}
_NOT_TRIED, _NOT_CONFIRMED = "not tried", "kept at first"
"""For people, the state of an unverified edit without a trial, and of one that passed its own."""
GUARDED: frozenset[EditState] = frozenset({"leak", "shortcut"})
"""States of edits that the leak guard refused before the merge."""
LEFT_OUT: frozenset[EditState] = frozenset({"over_budget", "not_selected"})
"""States of edits that the selection left out, or the trials above the learning rate."""
UNTRIED: frozenset[EditState] = GUARDED | LEFT_OUT
"""States of edits that no candidate was made with, by nobody's veto."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an analyst without a model could go by.

    Attributes:
        failures: failed attempts it read.
        fitting: those of them with a reference that occurs in the task or near the answer.
    """

    failures: int
    fitting: int

    @property
    def weak(self) -> bool:
        """Whether most references fit no task, so that what could be counted is chance."""
        return 2 * self.fitting < self.failures

    def lacking(self, noun: str = "task") -> str:
        """How many references do not fit."""
        tasks = f"{self.failures - self.fitting} of {count(self.failures, noun)}"
        return f"the references of {tasks} do not occur in their texts"


@dataclass(frozen=True, slots=True)
class EditCounts:
    """The edits of a step, stage by stage.

    Attributes:
        scored, failures: attempts with a score, and failed ones among them.
        broken: attempts without a score.
        left_out: tasks of the batch that were solved when last attempted, and not attempted.
        trials: of edits on failed tasks, in all rounds; None in logs that do not hold it.
        untried: edits that were set aside without a trial, as no failed task was left.
        asked, answered: analyses, and usable answers among them.
        proposed, merged: edits of all analysts, and those that the merge kept.
        rate: how many the step could apply; None for no limit.
        states: what became of the merged edits, state to number.
        evidence: None where a model analyses.
    """

    scored: int
    failures: int
    asked: int
    answered: int
    proposed: int
    merged: int
    rate: int | None = None
    states: tuple[tuple[EditState, int], ...] = ()
    evidence: Evidence | None = None
    left_out: int = 0
    trials: int | None = None
    untried: int = 0
    broken: int = 0

    def __add__(self, other: EditCounts) -> EditCounts:
        """The counts of several steps together."""
        states = Counter(dict(self.states)) + Counter(dict(other.states))
        pair = (self.evidence, other.evidence)
        known = [each for each in pair if each is not None]
        evidence = Evidence(sum(e.failures for e in known), sum(e.fitting for e in known))
        rates = [rate for rate in (self.rate, other.rate) if rate is not None]
        return EditCounts(
            scored=self.scored + other.scored,
            failures=self.failures + other.failures,
            asked=self.asked + other.asked,
            answered=self.answered + other.answered,
            proposed=self.proposed + other.proposed,
            merged=self.merged + other.merged,
            rate=sum(rates) if len(rates) == 2 else None,
            states=tuple(states.items()),
            evidence=evidence if known else None,
            left_out=self.left_out + other.left_out,
            trials=self.on_tasks + other.on_tasks,
            untried=self.untried + other.untried,
            broken=self.broken + other.broken,
        )

    @property
    def cause(self) -> Cause:
        """The first stage that let no edit through."""
        stages: tuple[tuple[Cause, bool], ...] = (
            ("unscored", not self.scored and bool(self.broken or not self.left_out)),
            ("all_solved", not (self.asked or self.failures)),
            ("unanswered", not self.answered),
            ("no_evidence", not self.proposed and self._baseless),
            ("not_proposed", not self.proposed),
            ("leaked", not self.merged and self._guarded == self.proposed),
            ("merged_away", not self.merged),
            ("rate_is_zero", self.rate == 0),
            ("vetoed", bool(self.tried) and set(self.tried) == {"vetoed"}),
            ("unverified", bool(self.tried) and set(self.tried) <= {"unverified", "harmful"}),
            ("not_applied", not set(CHANGED) & set(self.tried)),
        )
        return next((cause for cause, holds in stages if holds), "no_change")

    @property
    def tried(self) -> dict[EditState, int]:
        """What became of the edits that the budget let through, state to number."""
        return {state: n for state, n in self.states if state not in UNTRIED}

    @property
    def on_tasks(self) -> int:
        """The trials of edits on failed tasks: an edit of two rounds may be tried in both."""
        return sum(self.tried.values()) if self.trials is None else self.trials

    @property
    def _guarded(self) -> int:
        return sum(n for state, n in self.states if state in GUARDED)

    @property
    def _baseless(self) -> bool:
        return self.evidence is not None and self.evidence.weak


def why_no_edits(counts: EditCounts) -> str:
    """Why a step, or several with the same cause, changed nothing. Pure."""
    return _nothing_proposed(counts) if not counts.proposed else _nothing_left(counts)


def outcome_words(outcome: EditOutcome) -> str:
    """What became of an edit; of one that is not verified, whether it was tried on tasks."""
    if outcome.state != "unverified":
        return _words(outcome.state)
    if outcome.trial is None:
        return _NOT_TRIED
    return _NOT_CONFIRMED if outcome.trial.passed else _words(outcome.state)


def outcomes_words(outcomes: Iterable[EditOutcome]) -> str:
    """How many edits ended in each way, with the remedy where a setting is in their way."""
    return _counted(Counter(map(outcome_words, outcomes)))


def _tried_words(counts: EditCounts) -> str:
    """The same of the edits that the budget let through."""
    numbers = Counter({_words(state): n for state, n in counts.tried.items()})
    apart = Counter({_words("unverified"): -counts.untried, _NOT_TRIED: counts.untried})
    return _counted(numbers + apart)


def _words(state: EditState) -> str:
    return _STATE_WORDS.get(state, state)


def _counted(numbers: Mapping[str, int]) -> str:
    words = ", ".join(f"{n} {words}" for words, n in sorted(numbers.items()))
    return f"{words} ({EDITABLE_WORDS})" if numbers.get(_words("read_only")) else words


def _nothing_proposed(counts: EditCounts) -> str:
    match counts.cause:
        case "unscored":
            broken = f" ({counts.broken} broken)" if counts.broken else ""
            return f"no attempt could be scored{broken}"
        case "all_solved":
            return f"{_solved(counts)}, and only failures are analysed"
        case "unanswered":
            return f"0 of {count(counts.asked, 'analysis', 'analyses')} gave a usable answer"
        case "no_evidence":
            known = counts.evidence or Evidence(0, 0)
            return f"{known.lacking()}, so `rules` proposes nothing"
        case _:
            solved = "" if counts.failures else f"{_solved(counts)}, and "
            return f"{solved}{count(counts.answered, 'analysis', 'analyses')} proposed no edit"


def untried_words(number: int) -> str:
    """How many edits had no failed task to be tried on; empty for none."""
    return f", {number} with no failed task left to be tried on" if number else ""


def _tried_on_tasks(counts: EditCounts) -> str:
    """How many edits were tried on failed tasks, and in how many trials where those are more."""
    edits, trials = sum(counts.tried.values()) - counts.untried, counts.on_tasks
    again = f" in {count(trials, 'trial')}" if trials > edits > 0 else ""
    return f"{count(edits if again else trials, 'edit')} tried on failed tasks{again}"


def _solved(counts: EditCounts) -> str:
    """That all tasks with a score are solved, after how many have none."""
    tasks, other, broken = counts.scored + counts.left_out, "", ""
    if counts.broken:
        attempts = count(counts.scored + counts.broken, "attempt")
        other, broken = " other", f"{counts.broken} of {attempts} could not be scored, "
    solved = f"the{other or ' only'} task is" if tasks == 1 else f"all {tasks}{other} tasks are"
    last = f" ({counts.left_out} of them when last attempted)" if counts.left_out else ""
    if tasks == counts.left_out:
        last = " (when last attempted)"
    return f"{broken}{solved} solved{last}"


def _nothing_left(counts: EditCounts) -> str:
    tried = counts.tried
    number = count(sum(tried.values()), "edit")
    match counts.cause:
        case "leaked":
            return f"{count(counts.proposed, 'edit')} proposed, the leak guard refused every one"
        case "merged_away":
            return f"{count(counts.proposed, 'edit')} proposed, the merge kept 0"
        case "rate_is_zero":
            return f"{count(counts.merged, 'edit')} merged, 0 applied: the learning rate is 0"
        case "vetoed":
            return f"{number} chosen, every one vetoed"
        case "unverified":
            made = _tried_on_tasks(counts)
            return f"{made}{untried_words(counts.untried)}, 0 kept"
        case "not_applied" if tried:
            return f"{number} chosen, 0 applied: {_tried_words(counts)}"
        case "not_applied":
            return f"{count(counts.merged, 'edit')} merged, 0 chosen"
        case _:
            changed = sum(tried.get(state, 0) for state in CHANGED)
            return f"{count(changed, 'edit')} applied, together they change nothing"
