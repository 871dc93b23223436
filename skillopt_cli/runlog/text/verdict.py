"""The verdict of a run: as JSON, and as one sentence that anybody understands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from skillopt_cli.core.label_diagnostics import LabelDiagnostics
from skillopt_cli.core.run_verdict import RunVerdict, VerdictSplit
from skillopt_cli.core.statistics import CHANGED, CLEAR_WINS, LEVEL, tasks_to_show
from skillopt_cli.runlog.text.flips import flips_words
from skillopt_cli.runlog.text.format import change, count, one_line, pair, score, shorten

_TITLES: Mapping[str, tuple[str, str]] = {
    "improved": ("Better", "good"),
    "worse": ("Worse", "red"),
    "unproven": ("Not proven better", "yellow"),
    "underpowered": ("Too few tasks to decide", "yellow"),
    "not better": ("No better", "yellow"),
    "nothing won": ("No change", "yellow"),
}
"""The word of a verdict as a heading, with the style of it."""
Arms = tuple[str, str]
"""What the first and the second skill of a verdict are called in its sentence."""
TRAINED: Arms = ("the seed", "the trained skill")
TEST_DECIDES = "the exact test decides, not the interval, which is approximate"
"""What to add to a verdict that has both, where they disagree."""
_LONGEST = 40
"""Characters of an answer that are shown."""
_NAMED = 8
"""Labels that are named."""
_RAREST = 1_000_000


def verdict_title(word: str, majority: LabelDiagnostics | None) -> tuple[str, str]:
    """The verdict as a heading, with the style of it."""
    if word == "improved" and majority is not None and majority.unbeaten:
        return "Better than the seed only", "yellow"
    return _TITLES[word]


def verdict_document(
    verdict: RunVerdict, majority: LabelDiagnostics | None = None
) -> dict[str, Any]:
    """The entry `verdict` of `summary.json`."""
    return {**asdict(verdict), "sentence": run_sentence(verdict, majority)}


def run_sentence(verdict: RunVerdict, majority: LabelDiagnostics | None = None) -> str:
    """The verdict on a training in words, and whether one answer to all tasks does as well."""
    sentence = verdict_sentence(verdict)
    if majority is None or majority.verdict is None or not majority.unbeaten:
        return sentence
    compared = "is not proven better"
    if majority.verdict.word == "worse":
        compared = "is worse"
    elif (majority.verdict.gain or 0) < 0:
        compared = "scores lower"
    return f"{sentence} It {compared} than {_constant(majority)}."


def verdict_lines(verdict: RunVerdict, majority: LabelDiagnostics | None) -> tuple[str, ...]:
    """All sentences of the verdict on a training, the one of `run_sentence` first."""
    return (run_sentence(verdict, majority), *majority_lines(verdict, majority))


def verdict_sentence(verdict: RunVerdict, arms: Arms = TRAINED) -> str:
    """The verdict in words, with the numbers that it rests on."""
    seed_name, best_name = arms
    started = f"{best_name[:1].upper()}{best_name[1:]}"
    if verdict.identical and arms != TRAINED:
        return f"{started} reads the same as {seed_name}: there is nothing to compare."
    if verdict.identical:
        return "The best skill is the seed skill, unchanged: there is nothing to compare."
    one = _task(verdict.split)
    if verdict.best is None:
        return (
            f"There is no verdict on {best_name}: none of {verdict.asked} {one}s has both scores."
        )
    best, seed = pair(verdict.best, verdict.seed)
    against = (
        f"{best} against {seed}{_metric(verdict)} on {count(verdict.n, one)}"
        f" ({_gain_words(verdict, _flips(verdict))})"
    )
    if verdict.word == "improved":
        return f"{started} is better than {seed_name}: {against}.{_decides(verdict)}"
    if verdict.word == "worse":
        return f"{started} is worse than {seed_name}: {against}.{_decides(verdict)}"
    if verdict.word == "underpowered":
        unproven = f"It is not clear whether {best_name} is better"
    else:
        unproven = f"It is not proven that {best_name} is better than {seed_name}"
    why = unproven_words(verdict)
    return f"{unproven}: {against}. {why[:1].upper()}{why[1:]}."


def _metric(verdict: RunVerdict) -> str:
    """Which score is compared, where it is not the hard one that the lines around it have."""
    return "" if verdict.metric == "hard" else f" ({verdict.metric} score)"


def _gain_words(verdict: RunVerdict, flips: str) -> str:
    """The gain with its interval, the tasks it comes from, and how often chance explains it."""
    interval = f"95 % interval {change(verdict.low)} to {change(verdict.high)}"
    # The test is one-sided.
    such = "such a loss" if (verdict.gain or 0) < 0 else "such a gain"
    return (
        f"gain {change(verdict.gain)}, {interval}; {flips};"
        f" chance alone explains {such} in {chance_words(verdict.p_value)}"
    )


def _decides(verdict: RunVerdict) -> str:
    """A sentence on which of interval and test decides; empty where they agree."""
    sentence = f" {TEST_DECIDES[:1].upper()}{TEST_DECIDES[1:]}."
    return sentence if verdict.interval_disagrees else ""


def _flips(verdict: RunVerdict) -> str:
    return flips_words(verdict.metric, verdict.fixed, verdict.broke)


def _constant(majority: LabelDiagnostics) -> str:
    return f'always answering "{shorten(majority.answer, _LONGEST)}"'


def majority_document(
    verdict: RunVerdict | None, majority: LabelDiagnostics | None
) -> dict[str, Any] | None:
    """The entry `majority_baseline` of `summary.json`; None where answers are no labels."""
    if majority is None:
        return None
    return {**asdict(majority), "sentences": list(majority_lines(verdict, majority))}


def majority_entry(majority: LabelDiagnostics, split: VerdictSplit, skill: str) -> dict[str, Any]:
    """The entry `majority_baseline` of an evaluation; `skill` is what its sentences call it."""
    missed = never_right_words(majority.never_right, skill)
    sentences = [majority_words(majority, split, skill), *([missed] if missed else [])]
    return {**asdict(majority), "sentences": sentences}


def majority_lines(
    verdict: RunVerdict | None, majority: LabelDiagnostics | None
) -> tuple[str, ...]:
    """What to read a verdict on label tasks with; nothing where answers are no labels.

    The score of the commonest answer, the gain of the best skill on it, the labels that this skill
    never gets right, and whether the seed gives labels at all.
    """
    if verdict is None or majority is None:
        return ()
    skill = "the seed" if verdict.identical else "the trained skill"
    lines = [majority_words(majority, verdict.split, skill)]
    if missed := never_right_words(majority.never_right):
        lines.append(missed)
    if majority.seed_names_none and not verdict.identical:
        lines.append(
            f"The seed gives no known label in {majority.seed_unlabelled} of"
            f" {count(majority.seed_answers, 'answer')}, so a gain over it may come from the form"
            " of the answers alone."
        )
    return tuple(lines)


def never_right_words(labels: Mapping[str, int], skill: str = "") -> str:
    """The labels that a skill never gets right; empty where there are none.

    `Never right: technical (0 of 3)`.

    Args:
        labels: each with the number of its tasks.
        skill: what the sentence calls the skill; empty for the best skill of a verdict.
    """
    ranked = sorted(labels.items(), key=lambda one: -one[1])
    named = [f"{shorten(one_line(label), _LONGEST)} (0 of {n})" for label, n in ranked]
    more = f" and {count(len(named) - _NAMED, 'more label')}" if len(named) > _NAMED else ""
    title = f"Never right with {skill}" if skill else "Never right"
    return f"{title}: {', '.join(named[:_NAMED])}{more}." if named else ""


def majority_words(majority: LabelDiagnostics, split: VerdictSplit, skill: str) -> str:
    """The score of the commonest answer, and the gain of a skill on it.

    Args:
        skill: what the sentence calls it.
    """
    tasks = count(majority.n, _task(split))
    found = majority.verdict
    tied = ""
    if majority.equally_common > 1:
        hardest = ", the hardest of them to beat" if found is not None else ""
        tied = f" (one of {majority.equally_common} equally common labels{hardest})"
    constant = (
        f"Majority baseline: {_constant(majority)}{tied} scores {score(majority.score)} on the"
        f" {tasks}"
    )
    if found is not None and found.best is not None:
        # One answer is no text that an edit could have fixed or broken.
        flips = f"{found.fixed} won, {found.broke} lost"
        constant += f", {skill} {score(found.best)} ({_gain_words(found, flips)})"
        return f"{constant}.{_decides(found)}"
    return f"{constant}."


def _task(split: VerdictSplit) -> str:
    return "task" if split == "all" else f"{split} task"


def unproven_words(verdict: RunVerdict) -> str:
    """Why a measured gain or loss is not proven: what its test asks for, or what it cannot show."""
    if verdict.word == "underpowered" and verdict.n < verdict.asked:
        return f"only {verdict.n} of {verdict.asked} tasks have both scores"
    proof = f"proven is what chance explains in at most {chance_words(LEVEL)}"
    if verdict.interval_disagrees:
        return f"{proof}: {TEST_DECIDES}"
    size = abs(verdict.gain or 0)
    if verdict.detectable is None:
        gain = f"a true gain of up to {CHANGED:.2f}"
        few = f"so few tasks hardly show {gain} in this paired test"
        return few if size <= CHANGED else proof
    shown = f"a gain of {verdict.detectable:.2f} or more would most likely have shown"
    return shown if size < verdict.detectable else proof


def more_tasks_words(verdict: RunVerdict) -> str:
    """How many tasks could prove the measured gain; "" where more tasks are not what is missing."""
    if verdict.identical or verdict.word not in ("unproven", "underpowered"):
        return ""
    task = _task(verdict.split)
    if verdict.asked < CLEAR_WINS:
        return (
            f"fewer than {CLEAR_WINS} {task}s can never prove a gain, even if all of them improve;"
            f" use more {task}s"
        )
    if verdict.n < verdict.asked and verdict.p_value <= LEVEL:
        lacking = f"{verdict.asked - verdict.n} of {verdict.asked} {task}s"
        return f"{lacking} lack a score: resume the run"
    gain = verdict.gain or 0.0
    if gain <= 0:
        return f"there is no gain on these {task}s to prove; more training or another seed may help"
    if verdict.metric != "hard":
        return f"more {task}s than {verdict.n} may prove a gain of {change(gain)}"
    changed = max(gain, (verdict.fixed + verdict.broke) / verdict.n)
    needed = max(tasks_to_show(gain, changed), verdict.n + 1)
    return (
        f"if the true gain is {change(gain)} as measured, about {needed:,} {task}s would show it"
        f" four times in five, instead of {verdict.n}"
    )


def chance_words(p_value: float) -> str:
    """A probability for people: `1 of 250 cases`."""
    if p_value > 0.5:
        return "more than half of all cases"
    if p_value * _RAREST < 1:
        return f"less than 1 of {_RAREST:,} cases"
    times = 1 / p_value
    digits = 10 ** max(0, len(str(int(times))) - 2)
    return f"1 of {max(2, int(times / digits + 1e-9) * digits):,} cases"
