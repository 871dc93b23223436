"""A gate decision in one line, in the documented style."""

from __future__ import annotations

from skillopt_cli.core.gate import GateDecision
from skillopt_cli.ui.words import pair, score


def gate_line(decision: GateDecision) -> str:
    """The decision for people: `val score 0.68 > 0.65  ACCEPT`."""
    said, word, aside = gate_parts(decision)
    return f"{said}  {word}{f' ({aside})' if aside else ''}"


def gate_parts(decision: GateDecision) -> tuple[str, str, str]:
    """The parts of the line: what was found, the verdict, and what else there is to say, or "".

    Broken attempts can make the two means rest on different tasks; when the verdict then does not
    follow from the numbers shown, the line says that the common tasks decided.
    """
    if decision.verdict == "indecisive":
        reach = f"{decision.scored}/{decision.n}"
        return f"val coverage {reach} is too low to compare", "INDECISIVE", ""
    if decision.verdict == "no_op":
        return "the candidate equals the current skill", "NO_OP", ""
    candidate, incumbent = pair(decision.candidate, decision.incumbent)
    if decision.verdict == "force_accept":
        said = "new best" if decision.leads else f"best stays {score(decision.best)}"
        found = f"val score {candidate} (was {incumbent}, gate off, {said})"
        return found, "FORCE_ACCEPT", ""
    if decision.early:
        seen = f"settled after {decision.scored} of {decision.n}"
        return f"val score at most {candidate} <= {incumbent}", "REJECT", seen
    sign, word = (">", "ACCEPT") if decision.accepted else ("<=", "REJECT")
    if _follows(decision):
        found = f"val score {candidate} {sign} {incumbent}"
    else:
        better = "better" if decision.accepted else "not better"
        found = f"val score {candidate} {better} than {incumbent} on the tasks both scored"
    stays = f"best stays {score(decision.best)}" if decision.verdict == "accept" else ""
    return found, word, stays


def _follows(decision: GateDecision) -> bool:
    candidate, incumbent = decision.candidate, decision.incumbent
    if candidate is None or incumbent is None:
        return False
    return (candidate > incumbent) == decision.accepted
