"""Rows of the panel: what was decided, what a person asked, and what was spent."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.text import Text

from skillopt_cli.core.edit_counts import outcomes_words
from skillopt_cli.core.events import OUTAGE
from skillopt_cli.core.events.control import PausePoint
from skillopt_cli.core.steering import vetoed_among
from skillopt_cli.runlog.parts import StepView
from skillopt_cli.runlog.text.control import ctl_command
from skillopt_cli.runlog.text.edit import edit_words, ground_line, ground_words
from skillopt_cli.runlog.text.ending import (
    notice_words,
    test_label,
    test_words,
    trouble_words,
)
from skillopt_cli.runlog.text.epoch import guidance_words, slow_words, whole
from skillopt_cli.runlog.text.format import one_line
from skillopt_cli.runlog.text.gate import gate_parts
from skillopt_cli.runlog.text.limits import cap_words, pace_place, slowed, speed_words
from skillopt_cli.runlog.text.spend import role_words
from skillopt_cli.runlog.view import RunView

_FRAME = 12
"""Columns of a row that its border and its title take."""
_NEAR = 0.8
"""Share of a cap from which it is shown."""
_WRAPPED = 2
"""Most rows of a text that is wrapped."""
_PACES = 2
"""Most rows on models that are held back."""
_INDENT = 15
"""Columns before the number of an edit."""


def line(*parts: str | tuple[str, str]) -> Text:
    """A row of texts, plain or with a style; what does not fit is cut."""
    return Text.assemble(*parts, overflow="ellipsis", no_wrap=True)


def wrapped(title: str, text: str, width: int, style: str = "") -> Iterator[Text]:
    """A row of one text, and a second one where it does not fit into the first."""
    found = textwrap.wrap(text, width - _FRAME) or [""]
    rows = found if len(found) <= _WRAPPED else [found[0], " ".join(found[1:])]
    for shown, row in zip((title, ""), rows, strict=False):
        yield line((f"{shown:<8}", "dim"), (row, style))


def readable(text: Text, plain: bool) -> Text:
    """The text as a console without Unicode can print it."""
    if not plain:
        return text
    text = text.copy()
    text.plain = text.plain.encode("ascii", "replace").decode("ascii")
    text.overflow = "crop" if text.overflow == "ellipsis" else text.overflow
    return text


def decision_rows(view: RunView, limit: int) -> list[Text]:
    """The last decisions, newest last, with the tasks each candidate fixed (+) and broke (-)."""
    rows = []
    for step in [s for s in view.steps if s.action is not None][-limit:]:
        style = "green" if step.accepted else "yellow"
        if step.action == "reject":
            style = "red"
        rows.append(line(("gate    ", "dim"), f"{step.number:>3}  ", (_decision(step), style)))
    return rows


def _decision(step: StepView) -> str:
    if step.gate is None:
        return f"skipped: {one_line(step.skipped or '')}"
    decision = step.gate.decision
    found, word, aside = gate_parts(decision)
    # The verdict first, since a narrow screen cuts the end of the line.
    text = f"{word}  {found.removeprefix('val score ')}"
    if decision.early or decision.verdict in ("indecisive", "no_op"):
        return f"{text}  {aside}".rstrip()
    flips = f"+{len(decision.fixed)} -{len(decision.broke)} tasks"
    return f"{text}  {flips}{f'  {aside}' if aside else ''}"


def edit_rows(view: RunView, limit: int) -> list[Text]:
    """Edits of the newest step that has some: taken, turned down, or still being weighed."""
    step = next((s for s in reversed(view.steps) if s.outcomes or _waiting(view, s)), None)
    if step is None:
        return []
    fates = list(_fates(step) if step.outcomes else _chosen(view, step))
    rows = [
        line(("edit    ", "dim"), f"{step.number:>3}  ", (f"{sign} {words}", style))
        for sign, words, style in fates[:limit]
    ]
    hidden = len(fates) - len(rows)
    if hidden > 0 and rows:
        rows[-1].append(f"  (+{hidden} more)", style="dim")
    if not step.outcomes and 2 * len(fates) <= limit:
        return [row for edit in zip(rows, _grounds(step), strict=True) for row in edit]
    return rows


def _waiting(view: RunView, step: StepView) -> bool:
    """Whether the run is held with this step's edits chosen and none applied."""
    return view.steering.paused is not None and step is view.working and step.chosen is not None


def _chosen(view: RunView, step: StepView) -> Iterator[tuple[str, str, str]]:
    """The edits a person may strike out, by the numbers they are struck out by."""
    chosen = step.chosen
    if chosen is None:
        return
    vetoed = vetoed_among(chosen.chosen, view.steering.vetoes_at(chosen.step, chosen.round))
    for number, edit in enumerate(chosen.chosen, 1):
        out = number in vetoed
        sign, style = ("x", "dim") if out else ("?", "")
        yield sign, f"{number} {'vetoed: ' if out else ''}{edit_words(edit)}", style


def _grounds(step: StepView) -> Iterator[Text]:
    """What each of the edits rests on that a person may strike out, a row below its own."""
    for edit in step.chosen.chosen if step.chosen else ():
        yield line(" " * _INDENT, (ground_line(ground_words(edit), edit.tasks), "dim"))


def _fates(step: StepView) -> Iterator[tuple[str, str, str]]:
    """What became of edits: sign, words and style; a row for each that is or may be in the skill.

    Edits that were turned down share a row, and so do those that got into no candidate.
    """
    tried = [edit_words(outcome.edit) for outcome in step.outcomes if outcome.changed]
    if step.accepted or step.action is None:
        sign, style = ("+", "green") if step.accepted else ("?", "")
        yield from ((sign, words, style) for words in tried)
    elif tried:
        fate = "rejected" if step.action == "reject" else "not accepted"
        others = f" (+{len(tried) - 1} more)" if tried[1:] else ""
        yield "x", f"{fate}: {tried[0]}{others}", "red"
    if left_out := [outcome for outcome in step.outcomes if not outcome.changed]:
        yield "x", f"{len(left_out)} left out: {outcomes_words(left_out)}", "dim"


def epoch_rows(view: RunView, *, verbose: bool = False) -> list[Text]:
    """What the newest epoch's end did to the guidance region, and the guidance itself.

    Args:
        verbose: show the guidance whole, a line of it in a row.
    """
    slow = next((e.slow for e in reversed(view.epochs) if e.slow is not None), None)
    if slow is None or not (words := slow_words(slow)):
        return []
    rows = [line(("epoch   ", "dim"), f"{slow.epoch:>3}  {words}")]
    if verbose:
        parts = [one_line(part) for part in whole(slow.guidance)]
    else:
        parts = [guidance] if (guidance := guidance_words(slow, 200)) else []
    rows += [line(("guide   ", "dim"), f"{slow.epoch:>3}  {part}") for part in parts]
    return rows


def asked_rows(view: RunView, width: int) -> Iterator[Text]:
    """What a person asked of the run that has not come to pass."""
    steering = view.steering
    if steering.paused is not None:
        yield from _paused(view, steering.paused, width)
    if steering.planned:
        yield line(("asked   ", "dim"), ("will pause when edits are chosen", "yellow"))
    if steering.stopping:
        yield line(("asked   ", "dim"), ("stopping, calls in flight may finish", "bold yellow"))
    if view.ending is None:
        for hint in steering.hints:
            if hint.step >= max(1, view.at):
                yield line(("hint    ", "dim"), f"{hint.step:>3}  {one_line(hint.text)}")


def _paused(view: RunView, at: PausePoint, width: int) -> Iterator[Text]:
    """That the run is paused, and the command to copy: on a row of its own on a narrow screen."""
    words, command = {
        "now": ("paused; to go on:", "resume"),
        "edits": ("paused; strike out edits, then `resume`:", "veto N"),
    }[at]
    parts = (words, f"`{ctl_command(view, command)}`")
    whole = " ".join(parts)
    rows = (whole,) if len(whole) <= width - _FRAME else parts
    for title, row in zip(("asked", ""), rows, strict=False):
        yield line((f"{title:<8}", "dim"), (row, "bold yellow"))


def cost_rows(view: RunView, width: int) -> Iterator[Text]:
    """What was spent, of which caps and how fast, and what went wrong."""
    for role in view.roles:
        yield line(("spent   ", "dim"), role_words(role, view.spent_by(role)))
    caps = cap_words(view)
    most = max((share for _, share in caps), default=0.0)
    style = "bold red" if most >= 1 else "yellow" if most >= _NEAR else ""
    parts = [f"{words} ({share:.0%})" if share >= _NEAR else words for words, share in caps]
    for row in _packed(parts, width - _FRAME):
        yield line(("caps    ", "dim"), (row, style))
    for pace in slowed(view)[:_PACES] if view.ending is None else ():
        words = pace.reason if pace.reason.startswith(OUTAGE) else speed_words(pace)
        yield line(("pace    ", "dim"), (f"{one_line(words)}, {pace_place(pace)}", "yellow"))
    if view.last_retry is not None and view.ending is None:
        retry = view.last_retry
        words = f"last of the {retry.role}: {one_line(retry.reason)}"
        yield line(("retried ", "dim"), words)
    trouble = trouble_words(view)
    yield from wrapped("trouble", trouble or "none", width, "yellow" if trouble else "dim")
    if notice := notice_words(view):
        yield from wrapped("note", notice, width, "dim")
    if test := test_words(view):
        yield line(("test    ", "dim"), f"{test}{test_label(view)}")
    if view.stopped:
        yield line(("stopped ", "dim"), (one_line(view.stopped), "yellow"))


def _packed(parts: Sequence[str], room: int) -> list[str]:
    """The parts, separated by commas, on as few lines of `room` characters as they fit on."""
    rows: list[str] = []
    for part in parts:
        if rows and len(rows[-1]) + 2 + len(part) <= room:
            rows[-1] += f", {part}"
        else:
            rows.append(part)
    return rows
