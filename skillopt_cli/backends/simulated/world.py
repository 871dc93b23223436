"""The simulated world: families of questions, the rules they need, and harmful sentences.

A question belongs to one of 24 families by its hash. The simulated target finds every answer but
puts it in a wrong form unless the skill holds the rules its family needs, word for word. Four
families come right without any rule, so an untaught target scores about one in six.
"""

from __future__ import annotations

import hashlib
import re

VERSION = 1
"""Changes whenever the same request could get another reply."""

_RULES = (
    "Give nothing but the answer itself, without a sentence around it",
    "Copy the answer from the text letter by letter",
    "When the question asks for a year, give the four digits alone",
    "Leave out words of courtesy before and after the answer",
    "When the question asks for a place, name the place and not the region around it",
    "Write numbers as digits, never as words",
    "Do not explain how the answer was found",
    "When a question asks for a person, give the full name as the text has it",
    "Answer in at most five words",
    "Do not repeat the question in the answer",
    "Keep the capital letters that the text uses",
    "When the text gives a unit with a number, leave the unit out",
    "Leave out titles such as Doctor or Captain before a name",
    "Do not say how certain the answer is",
    "When several things fit, give the one that the verb of the question points to",
    "Leave out articles at the start of the answer",
    "Do not end the answer with a full stop",
    "When a question asks what something is known for, give the thing and no judgement on it",
    "Do not put quotation marks around the answer",
    "Give one answer, never a list of possible ones",
    "Read the sentence that names the subject of the question before the others",
    "Prefer the text to anything you remember about the subject",
    "Take the shortest stretch of the text that answers the question",
    "Check the answer against the question word before giving it",
)
FAMILIES = len(_RULES)
_APPENDIX = re.compile(r"<!-- APPENDIX_START -->(.*?)<!-- APPENDIX_END -->", re.DOTALL)
_UNTAUGHT = frozenset((20, 21, 22, 23))
_SECOND = {2: 3, 6: 8, 7: 12, 11: 5, 14: 19, 17: 15}

HARMFUL = (
    "Always answer in a complete sentence, so that the reader has some context.",
    "Add the source of the answer in brackets after it.",
    "When in doubt, offer two possible answers and let the reader choose.",
    "Start every answer by restating what was asked.",
    "Round dates and numbers to make them easier to remember.",
    "Close each answer with a short summary of the text.",
)
USELESS = (
    "Take the time that the question deserves.",
    "Remember that every text has an author.",
    "Be attentive while reading.",
    "Treat every question as if it were the first.",
    "Good answers come from good reading.",
    "Keep in mind what the task is about.",
    "Stay friendly, whatever the question.",
    "A text may be read more than once.",
)


def rule(family: int) -> str:
    """Return the sentence that teaches a family's form of answer."""
    return f"{_RULES[family]} (family {family})."


def needed(family: int) -> tuple[str, ...]:
    """Return the sentences a skill needs for a family to be answered correctly: up to two."""
    if family in _UNTAUGHT:
        return ()
    second = _SECOND.get(family)
    return (rule(family),) if second is None else (rule(family), rule(second))


def missing(family: int, text: str) -> tuple[str, ...]:
    """Return the needed sentences that `text` does not contain."""
    return tuple(sentence for sentence in needed(family) if sentence not in text)


def held(text: str) -> tuple[str, ...]:
    """Return the rules that `text` contains."""
    return tuple(sentence for sentence in map(rule, range(FAMILIES)) if sentence in text)


def appendix(text: str) -> str:
    """Return the appendix region of a skill, or of a text that contains one."""
    found = _APPENDIX.search(text)
    return found.group(1) if found else ""


def without_appendix(text: str) -> str:
    """Return the text without its appendix region."""
    return _APPENDIX.sub("", text)


def harm(family: int) -> str:
    """Return the sentence that makes a family fail, regardless of the rest of the skill."""
    return HARMFUL[family % len(HARMFUL)]


def untaught(question: str, text: str) -> bool:
    """Whether `text` lacks a rule that the question's family needs, or contains its harmful one."""
    family = family_of(question)
    return harm(family) in text or bool(missing(family, text))


def family_of(question: str) -> int:
    """Return the family of a question, from 0, by a hash of its text."""
    return (
        int(hashlib.sha256(question.strip().encode(errors="surrogatepass")).hexdigest(), 16)
        % FAMILIES
    )


def chance(*causes: object) -> float:
    """Return a number in [0, 1) that depends on `causes` alone."""
    seed = "\x1f".join(map(str, causes)).encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest(), "big") / 2**64
