"""A gate decision in one line, in the documented style."""

from __future__ import annotations

from skillopt_cli.core.gate import EPSILON, GateDecision
from skillopt_cli.runlog.parts import saved_attempts
from skillopt_cli.runlog.text.format import count, one_line, pair, score


def gate_line(decision: GateDecision) -> str:
    """The decision for people: `val score 0.68 > 0.65  ACCEPT`."""
    found, word, aside = gate_parts(decision)
    return f"{found}  {word}{f' ({aside})' if aside else ''}"


def gate_parts(decision: GateDecision) -> tuple[str, str, str]:
    """The parts of the line: what was found, the verdict, and what else there is, or "".

    Broken attempts can make the two means rest on different tasks; when the verdict then does not
    follow from the numbers shown, the line names the common tasks as what decided.
    """
    if decision.verdict == "indecisive":
        reach = f"{decision.scored}/{decision.n}"
        return f"val coverage {reach} is too low to compare", "INDECISIVE", ""
    if decision.verdict == "no_op":
        return "the candidate equals the current skill", "NO_OP", ""
    if decision.verdict == "force_accept":
        return forced_words(decision, "gate off, "), "FORCE_ACCEPT", ""
    name = score_name(decision.metric)
    candidate, incumbent = pair(decision.candidate, decision.incumbent)
    if decision.early:
        seen = f"settled after {decision.scored} of {decision.n}"
        return f"{name} at most {candidate} <= {incumbent}", "REJECT", seen
    word = "ACCEPT" if decision.accepted else "REJECT"
    sign, compared = _comparison(decision)
    if _follows(decision):
        found = f"{name} {candidate} {sign} {incumbent}"
    else:
        found = f"{name} {candidate} {compared} than {incumbent} on the tasks both scored"
    if decision.tied:
        return found, word, f"{compared}, {_best(decision)}"
    return found, word, _best(decision) if decision.verdict == "accept" else ""


def early_words(decision: GateDecision, made: int) -> str:
    """How many attempts a measurement that was settled early saved, and why not more.

    Args:
        made: attempts of the measurement, with those that were under way when it was settled.
    """
    saved, more = saved_attempts(decision, made), max(0, made - decision.scored)
    if not more:
        return f"{count(saved, 'attempt')} saved"
    return f"{count(more, 'attempt')} more under way by then, {saved:,} saved"


def forced_words(decision: GateDecision, why: str = "") -> str:
    """The scores of a text that was accepted by force, and what became of the best one."""
    candidate, incumbent = pair(decision.candidate, decision.incumbent)
    return f"{score_name(decision.metric)} {candidate} (was {incumbent}, {why}{_best(decision)})"


def _best(decision: GateDecision) -> str:
    """What became of the best text."""
    if decision.ties_best:
        return "equals the best and replaces it"
    return "new best" if decision.leads else f"best stays {score(decision.best)}"


def score_name(metric: str) -> str:
    """What the gate's score is called: `val score`, and under which metric where not the hard."""
    return "val score" if metric == "hard" else f"val score ({one_line(metric)})"


def _comparison(decision: GateDecision) -> tuple[str, str]:
    """How candidate and incumbent compare, as a sign and in words."""
    if decision.tied:
        return "=", "not worse"
    return (">", "better") if decision.accepted else ("<=", "not better")


def _follows(decision: GateDecision) -> bool:
    candidate, incumbent = decision.candidate, decision.incumbent
    if candidate is None or incumbent is None:
        return False
    if decision.tied:
        return abs(candidate - incumbent) <= EPSILON
    return (candidate > incumbent) == decision.accepted
