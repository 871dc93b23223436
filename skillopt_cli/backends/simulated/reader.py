"""How the simulated target reads: a short span of the context, chosen by the question word."""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'])|\n+")
_WORD = re.compile(r"\w[\w'-]*")
_NAME = re.compile(r"[A-Z][\w'-]*(?: (?:of |the |de |van |von )?[A-Z][\w'-]*)*")
_PLACE = re.compile(rf"\b(?:in|at|near|to|from|of) (?:the )?({_NAME.pattern})")
_YEAR = re.compile(r"\b(?:1\d{3}|20\d\d)\b")
_NUMBER = re.compile(r"\b\d+(?:[.,]\d+)*\b")
_PHRASE = re.compile(r"[^,.;:!?()]+")
_LEADING = re.compile(
    r"^(?:(?:for|its|his|her|their|the|an?|of|by|with|was|were|is|are|as|called|to|on|in)\s+)+"
)
_KINDS = (
    ("number", re.compile(r"\bhow (?:many|much|old|long|far|tall|deep|high)\b")),
    ("year", re.compile(r"\bwhen\b|\b(?:what|which) year\b")),
    ("person", re.compile(r"\bwho(?:se|m)?\b")),
    (
        "place",
        re.compile(r"\bwhere\b|\b(?:what|which) (?:city|country|town|place|river|island|state)\b"),
    ),
)
_FUNCTION_WORDS = frozenset(
    _WORD.findall(
        "a an the of in on at to for by with from and or is are was were do does did has have had"
        " it its who whom whose what which when where how many much year"
    )
)
_STEM = 5


def read_span(question: str, context: str) -> str:
    """The span of `context` that looks most like the answer; "" when nothing does.

    Takes the kind of answer from the question word, and the sentence that shares most words with
    the question; of two equal ones, the first. What only repeats the question is no answer.
    """
    asked = question.lower()
    kind = _kind(asked)
    wanted = stems(question)
    sentences = [s for s in _SENTENCE.split(context) if s.strip()]
    ranked = sorted(sentences, key=lambda s: -len(wanted & stems(s)))
    for sentence in ranked:
        if kind == "thing":
            span = _after_last_shared_word(sentence, wanted)
        else:
            spans = _spans(kind, sentence)
            span = next((s for s in spans if s.lower() not in asked and stems(s)), "")
        if span:
            return span
    return ""


def _kind(question: str) -> str:
    return next((kind for kind, cue in _KINDS if cue.search(question)), "thing")


def stems(text: str) -> set[str]:
    """The words of a text that say something, cut to their stems."""
    words = _WORD.findall(text.lower())
    return {_stem(word) for word in words if word not in _FUNCTION_WORDS}


def _stem(word: str) -> str:
    return word.rstrip("s")[:_STEM]


def _spans(kind: str, sentence: str) -> list[str]:
    """The spans of the kind, likely ones first."""
    if kind == "year":
        return _YEAR.findall(sentence)
    if kind == "number":
        return sorted(_NUMBER.findall(sentence), key=lambda n: bool(_YEAR.fullmatch(n)))
    if kind == "place":
        return _PLACE.findall(sentence) or _NAME.findall(sentence)
    return _NAME.findall(sentence)


def _after_last_shared_word(sentence: str, wanted: set[str]) -> str:
    end = 0
    for word in _WORD.finditer(sentence):
        if _stem(word.group().lower()) in wanted:
            end = word.end()
    phrase = _PHRASE.search(sentence[end:])
    return _LEADING.sub("", phrase.group().strip()) if phrase else ""
