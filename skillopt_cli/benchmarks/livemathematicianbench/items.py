"""Items of LiveMathematicianBench, from monthly files as published or from prepared ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillopt_cli.benchmarks.choice import choices_fault
from skillopt_cli.benchmarks.choice_records import Choices, label_of, read_choices
from skillopt_cli.benchmarks.records import LeftOut, Record

FILES = "qa_*_final.json"
_MONTH = re.compile(r"qa_(.+)_final")
_KIND = "math_mcq"


@dataclass(frozen=True, slots=True)
class Item:
    """One question.

    Attributes:
        right: the place of the right option.
        theorem, sketch: what the question was made from; may be empty.
        types: kinds of theorem, at least one.
    """

    id: str
    question: str
    choices: Choices
    right: int
    theorem: str = ""
    sketch: str = ""
    types: tuple[str, ...] = (_KIND,)
    about: Mapping[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        """The item in the prepared form."""
        pairs = list(zip(self.choices.labels, self.choices.texts, strict=True))
        options = [{"label": label, "text": text} for label, text in pairs]
        return {
            "id": self.id,
            **(self.about or {}),
            "theorem": self.theorem,
            "sketch": self.sketch,
            "theorem_type": list(self.types),
            "question": self.question,
            "choices": options,
            "correct_choice": options[self.right],
        }


def read_item(record: Record) -> Item:
    """The item of a record; what asks and answers may stand in its object `mcq`.

    Raises:
        LeftOut: it has no question, no options that can be told apart, or no right one.
    """
    data = record.data
    mcq = data.get("mcq")
    asked: Mapping[str, Any] = mcq if isinstance(mcq, Mapping) else data
    question = asked.get("question")
    if not isinstance(question, str) or not question.strip():
        raise LeftOut("without a question")
    choices, right = _options(asked)
    return Item(
        _identifier(record),
        question.strip(),
        choices,
        right,
        _text(data.get("theorem")),
        _text(data.get("sketch")),
        _types(data.get("theorem_type")),
        _about(record),
    )


def _options(asked: Mapping[str, Any]) -> tuple[Choices, int]:
    choices = read_choices(asked.get("choices"))
    if choices is None or not choices.texts:
        raise LeftOut("without options")
    correct = asked.get("correct_choice")
    right = choices.place(correct)
    if right is None and isinstance(correct, Mapping):
        label, text = correct.get("label"), correct.get("text", correct.get("content"))
        if isinstance(label, str) and label.strip() and isinstance(text, str) and text.strip():
            # Published items may list the wrong options only.
            choices = choices.with_option(label_of(label), text.strip())
            right = len(choices.texts) - 1
    if right is None:
        raise LeftOut("without a right option")
    if choices_fault(choices.texts):
        raise LeftOut("whose options cannot be told apart")
    return choices, right


def _identifier(record: Record) -> str:
    if record.data.get("id") is not None:
        return record.identifier()
    about = _about(record)
    month, number = about.get("month"), about["no"]
    return f"{month}:{number}" if month else str(number)


def _about(record: Record) -> dict[str, Any]:
    """Where an item comes from: month and number, which make up its id, and its paper."""
    data = record.data
    named = _MONTH.fullmatch(record.path.stem)
    month = _text(data.get("month")) or (named[1] if named else "")
    number = data.get("no")
    known = isinstance(number, int | str) and not isinstance(number, bool) and str(number).strip()
    about = {"month": month, "no": number if known else record.number}
    link = _text(data.get("paper_link"))
    return {**about, "paper_link": link} if link else about


def _types(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    found = tuple(v.strip() for v in values if isinstance(v, str) and v.strip())
    return found or (_KIND,)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
