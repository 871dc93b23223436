"""Positions of rules and worked examples in a skill, and the edits that add them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt_cli.backends.completion_agent import completion_text
from skillopt_cli.core.edits import Edit
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Brief, Section
from skillopt_cli.core.worked_examples import mark, without_marks
from skillopt_cli.optimizers.rules.label_rules import topic
from skillopt_cli.optimizers.rules.rulebook import SLOT, Rule, recognise

BULLET = "- "
SAFE_ANCHOR = 12
"""Characters; a shorter line is likely to recur in what is added, and no anchor then."""


@dataclass(frozen=True, slots=True)
class OwnRule:
    """A line of the skill that the analyst wrote."""

    line: str
    rule: Rule
    wording: int

    @property
    def limit(self) -> int:
        """The number of words the rule allows; 100 means any number."""
        if SLOT not in self.rule.wordings[self.wording]:
            return 100
        said = (n for n in range(1, 100) if self.rule.says(self.wording, n) in self.line)
        return next(said, 100)


@dataclass(frozen=True, slots=True)
class Layout:
    """A skill as the analyst sees it.

    Attributes:
        rules: its own rules, top down.
        examples: worked examples, each a paragraph, top down.
        anchor: the line after which a new rule belongs; "" puts it at the end.
        label_rules: its own lines about labels, by what each decides.
    """

    rules: tuple[OwnRule, ...]
    examples: tuple[str, ...]
    anchor: str
    label_rules: Mapping[str, str] = field(default_factory=dict)

    def on(self, topic: str) -> OwnRule | None:
        """The rule on a topic, if there is one."""
        return next((own for own in self.rules if own.rule.topic == topic), None)

    def rule_edit(self, sentence: str) -> Edit:
        """Add a rule below the others, above the examples."""
        if self.anchor:
            return Edit("insert_after", BULLET + sentence, self.anchor)
        return Edit("append", BULLET + sentence)


def read_layout(skill: SkillDocument, brief: Brief) -> Layout:
    """Find rules and examples in a skill.

    Args:
        brief: any task of the benchmark: its section titles and its cue mark an example.
    """
    titles = [section.title for section in brief.sections]
    paragraphs = [p.strip("\n") for p in re.split(r"\n[ \t]*\n", skill.body) if p.strip()]
    examples = tuple(p for p in paragraphs if _is_example(p, titles, brief.answer_cue))
    others = [line for p in paragraphs if p not in examples for line in p.split("\n")]
    own = [
        OwnRule(line, *known)
        for line in others
        if line.startswith(BULLET) and (known := recognise(line.removeprefix(BULLET).strip()))
    ]
    last = others[-1] if others else ""
    usable = last if len(last) >= SAFE_ANCHOR and skill.text.count(last) == 1 else ""
    about = {topic(line.removeprefix(BULLET).strip()): line for line in others if BULLET in line}
    about.pop("", None)
    return Layout(tuple(own), examples, usable, about)


def example_text(brief: Brief, answer: str) -> str:
    """A worked example: its mark, the task as a completion model sees it, and the answer."""
    one_paragraph = tuple(
        Section(section.title, re.sub(r"\n\s*\n", "\n", section.text)) for section in brief.sections
    )
    shown = Brief(brief.task_id, "", one_paragraph, answer_cue=brief.answer_cue)
    return mark(brief.task_id) + completion_text(shown, answer)


def example_edit(text: str) -> Edit:
    """Add a worked example at the end, where it affects a completion model most."""
    return Edit("append", f"\n{text}")


def example_answer(text: str) -> str | None:
    """The answer an example shows: what follows the last colon of its last line's label."""
    last = text.strip().split("\n")[-1]
    label, colon, answer = last.partition(": ")
    return answer if colon and len(label.split()) <= 3 else None


def _is_example(paragraph: str, titles: list[str], cue: str) -> bool:
    lines = without_marks(paragraph).split("\n")
    return lines[0].startswith(tuple(f"{t}: " for t in titles)) and lines[-1].startswith(f"{cue}: ")
