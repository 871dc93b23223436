"""Select, with a model: rank the edits and keep the best within the learning rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt_cli.core.edits import Edit, EditOutcome, Patch
from skillopt_cli.core.events import Degraded
from skillopt_cli.core.formatting import count
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.stages.answer_schemas import Ranking
from skillopt_cli.stages.ask import Question, ask
from skillopt_cli.stages.prompt_text import listed, skill_text
from skillopt_cli.stages.run import Run


async def rank_with_model(
    run: Run, skill: SkillDocument, merged: Patch, budget: int | None
) -> Patch:
    """The ranked patch, empty where the ranking is.

    A patch within the budget needs no call, nor does a budget of nothing.
    """
    if not exceeds(len(merged.edits), budget) or budget is None:
        return merged
    if budget == 0:
        return selected(merged, ())
    user = f"{skill_text(skill)}\n\nKeep at most {budget} edits.\n\n{listed(merged.edits)}"
    answer = await ask(run, Question("ranking", user, Ranking, "select", budget))
    if answer and not answer.selected_indices:
        return selected(merged, (), "the ranking chose no edit")
    named = answer.selected_indices if answer else []
    places = [i for i in dict.fromkeys(named) if 0 <= i < len(merged.edits)]
    if stray := len(set(named)) - len(places):
        which = f"{stray} of the numbers in the ranking name" if places else "the ranking names"
        run.emit(Degraded("select", f"{which} no edit of the list"))
    places = (places or by_support(merged.edits))[:budget]
    if run.config.optimizer.failures_first:
        places = _failures_first(merged.edits, places)
    fewer = f"the ranking chose {count(len(places), 'edit')} of at most {budget}"
    return selected(merged, places, fewer if len(places) < budget else "")


def _failures_first(edits: Sequence[Edit], places: Sequence[int]) -> list[int]:
    """As many places, in which edits of failures that were left out displace those of successes."""
    others = [i for i in by_support(edits) if i not in places]
    order = sorted((*places, *others), key=lambda i: edits[i].source == "success")
    return order[: len(places)]


def exceeds(edits: int, budget: int | None) -> bool:
    """Whether there are more edits than a learning rate allows."""
    return budget is not None and edits > budget


def by_support(edits: Sequence[Edit]) -> list[int]:
    """Indices of `edits`, best supported first; equals keep their order."""
    return sorted(range(len(edits)), key=lambda i: -edits[i].support)


def selected(merged: Patch, places: Sequence[int], reason: str = "") -> Patch:
    """The patch with the edits at `places`; the others become `dropped`.

    Args:
        reason: why the others are left out where that is not the budget, so that they are set
            aside instead.
    """
    kept = set(places)
    edits = tuple(merged.edits[i] for i in places)
    others = tuple(e for i, e in enumerate(merged.edits) if i not in kept)
    if not reason:
        return replace(merged, edits=edits, dropped=others)
    outcomes = tuple(EditOutcome(edit, "not_selected", reason) for edit in others)
    return replace(merged, edits=edits, set_aside=(*merged.set_aside, *outcomes))
