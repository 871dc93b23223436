"""Options as published data sets write them, and the right one among them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillopt_cli.benchmarks.kit.choices import LETTERS

_CLOSING = ".):"
_LABELLED = re.compile(r"\s*\(?([A-Za-z])\s*[).:]\s*(\S.*)", re.DOTALL)
_HEAD = re.compile(r"^[ \t]*choices[ \t]*:[ \t]*", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Choices:
    """Options in their order, with the labels they have in the data; both may be empty.

    A label that the data do not give is a letter by position.
    """

    labels: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    def place(self, value: Any) -> int | None:
        """Which option a label, a text, or an object with either names; None when none is."""
        if isinstance(value, Mapping):
            named = (value.get("label"), value.get("text", value.get("content")))
            found = (self.place(part) for part in named if isinstance(part, str))
            return next((place for place in found if place is not None), None)
        if not isinstance(value, str) or not value.strip():
            return None
        if label_of(value) in self.labels:
            return self.labels.index(label_of(value))
        for form in (str.strip, _folded):
            places = [i for i, text in enumerate(self.texts) if form(text) == form(value)]
            if len(places) == 1:
                return places[0]
        match = _LABELLED.fullmatch(value)
        return self.place(match[1]) if match else None

    def with_option(self, label: str, text: str) -> Choices:
        """The options and one more at the end."""
        return Choices((*self.labels, label), (*self.texts, text))


def label_of(text: str) -> str:
    """A label as it is compared: "b)", "(B)" and "B." are B."""
    return text.strip().lstrip("(").rstrip(_CLOSING).strip().upper()


def read_choices(value: Any) -> Choices | None:
    """Options from a list of texts or of objects with a text, or an object of texts by label.

    Texts that all start with their own letter, as "A. red", are taken without it.

    Returns:
        None when they are written in any other way.
    """
    if value is None or value == "":
        return Choices()
    if isinstance(value, Mapping):
        labels = sorted(value, key=str)
        return _labelled([label_of(str(label)) for label in labels], [value[k] for k in labels])
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    if any(isinstance(item, Mapping) for item in value):
        return _objects(value)
    return _labelled(_letters(len(value)), value)


def split_question(question: str) -> tuple[str, Choices]:
    """A question and the options of the block below it that starts with "Choices:", if any."""
    heads = list(_HEAD.finditer(question))
    if not heads:
        return question, Choices()
    head = heads[-1]
    lines = [line for line in question[head.end() :].splitlines() if line.strip()]
    texts: list[str] = []
    for line in lines:
        match = _LABELLED.fullmatch(line)
        if match and match[1].upper() == LETTERS[len(texts) % len(LETTERS)]:
            texts.append(match[2].strip())
        elif texts:
            texts[-1] = f"{texts[-1]}\n{line.strip()}"
        else:
            return question, Choices()
    return question[: head.start()].strip(), Choices(tuple(_letters(len(texts))), tuple(texts))


def _objects(value: Sequence[Any]) -> Choices | None:
    labels = []
    texts = []
    for letter, item in zip(_letters(len(value)), value, strict=True):
        if not isinstance(item, Mapping):
            return None
        label = item.get("label")
        labels.append(label_of(str(label)) if label not in (None, "") else letter)
        texts.append(item.get("text", item.get("content")))
    return _labelled(labels, texts)


def _labelled(labels: Sequence[str], texts: Sequence[Any]) -> Choices | None:
    plain = [str(t) if isinstance(t, int | float) and not isinstance(t, bool) else t for t in texts]
    if len(set(labels)) < len(labels) or not all(isinstance(t, str) and t.strip() for t in plain):
        return None
    marks = [_LABELLED.fullmatch(text) for text in plain]
    if plain and all(m and m[1].upper() == label for m, label in zip(marks, labels, strict=True)):
        plain = [match[2] for match in marks if match]
    return Choices(tuple(labels), tuple(text.strip() for text in plain))


def _letters(n: int) -> list[str]:
    return [LETTERS[i] if i < len(LETTERS) else str(i + 1) for i in range(n)]


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
