"""The simulated target and judge.

The target finds a short span of the context by the question word, and answers correctly if the
skill in its system message has the rules. The judge accepts an answer that holds the reference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from skillopt_cli.backends.simulated.messages import last_section, sections
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.backends.simulated.world import (
    appendix,
    chance,
    family_of,
    harm,
    missing,
)

_TEXT_THEN_QUESTION = re.compile(r"(.*[.!?\n])\s*([^.!?\n]+\?)\s*\Z", re.DOTALL)
_JUDGED_WORD = re.compile(r"[\w.%-]*\w%?")
_NOTHING = "(no answer)"
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
    """Return the span of `context` that looks most like the answer; "" for none.

    The question word decides the kind of answer. The sentence that shares most words with the
    question counts, of equal ones the first. A span that only repeats the question is no answer.
    """
    asked = question.lower()
    kind = next((kind for kind, cue in _KINDS if cue.search(asked)), "thing")
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


def stems(text: str) -> set[str]:
    """Return the stems of a text's content words."""
    words = _WORD.findall(text.lower())
    return {_stem(word) for word in words if word not in _FUNCTION_WORDS}


def _stem(word: str) -> str:
    return word.rstrip("s")[:_STEM]


def _spans(kind: str, sentence: str) -> list[str]:
    """Return the spans of a kind, likely ones first."""
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


@dataclass(frozen=True, slots=True)
class Reading:
    """What the target reads in a user message, independent of the skill.

    Attributes:
        question: the text of the last "Question" section, else the whole message.
        span: what it finds in the "Context" section, or else in the text before the last sentence
            of the question; "" for nothing.
    """

    question: str
    family: int
    span: str


def read(user: str) -> Reading:
    """Read a user message."""
    question = last_section(user, "question") or user.strip()
    context, asked = last_section(user, "context"), question
    if not context and (parts := _TEXT_THEN_QUESTION.match(question)):
        context, asked = parts.groups()
    return Reading(question, family_of(question), read_span(asked, context))


def answer(system: str, reading: Reading, config: SimulatedConfig, draw: int = 0) -> str:
    """Return the target's reply, which depends on the request and its draw alone.

    Questions of the share `noise` are always answered wrong, those of `flaky_rate` in one of two
    draws that follow one another; in those of `lapse_rate` a rule counts only if the appendix
    repeats it.
    """
    span, question = reading.span, reading.question

    def drawn(habit: str) -> float:
        return chance(config.seed, habit, question)

    followed = appendix(system) if drawn("lapse") < config.lapse_rate else system
    if not span or drawn("noise") < config.noise:
        text = "It cannot be told from the text."
    elif drawn("flaky") < config.flaky_rate:
        wrong = (drawn("draw") < 0.5) == (draw % 2 == 0)
        text = f"Perhaps {span}." if wrong else span
    elif harm(reading.family) in system:
        text = f"{span}, or something close to it, as the text suggests"
    elif missing(reading.family, followed):
        text = f"The text says that the answer to this question is {span}."
    else:
        text = span
    return f"<answer>{text}</answer>" if "<answer>" in system else text


def is_judgement(user: str) -> bool:
    """Whether a message is a request to judge an answer."""
    return "## Reference answer\n" in user and "## Answer to judge\n" in user


def verdict(system: str, user: str) -> str:
    """Return one of the verdicts that the rubric allows."""
    parts = sections(user)
    answer, reference = parts["Answer to judge"], parts["Reference answer"]
    if answer == _NOTHING:
        return "NOT_ATTEMPTED" if "NOT_ATTEMPTED" in system else "INCORRECT"
    words, wanted = _words(answer), _words(reference)
    found = any(words[i : i + len(wanted)] == wanted for i in range(len(words)))
    return "CORRECT" if wanted and found else "INCORRECT"


def _words(text: str) -> list[str]:
    return _JUDGED_WORD.findall(text.casefold())
