"""The simulated world: kinds of questions, the rules they need, and sentences that do harm.

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
    """The sentence that teaches the form of answer a family wants."""
    return f"{_RULES[family]} (family {family})."


def needed(family: int) -> tuple[str, ...]:
    """The sentences a skill must hold for the family to come out right: none, one or two."""
    if family in _UNTAUGHT:
        return ()
    second = _SECOND.get(family)
    return (rule(family),) if second is None else (rule(family), rule(second))


def missing(family: int, text: str) -> tuple[str, ...]:
    """The needed sentences that `text` does not hold."""
    return tuple(sentence for sentence in needed(family) if sentence not in text)


def held(text: str) -> tuple[str, ...]:
    """The rules that `text` holds."""
    return tuple(sentence for sentence in map(rule, range(FAMILIES)) if sentence in text)


def appendix(text: str) -> str:
    """What stands in the appendix region of a skill, or of a text that holds one."""
    found = _APPENDIX.search(text)
    return found.group(1) if found else ""


def without_appendix(text: str) -> str:
    """The text without its appendix region."""
    return _APPENDIX.sub("", text)


def harm(family: int) -> str:
    """The sentence that makes the family go wrong, whatever else the skill says."""
    return HARMFUL[family % len(HARMFUL)]


def family_of(question: str) -> int:
    """The family of a question, from 0; a function of its text without surrounding white space."""
    return (
        int(hashlib.sha256(question.strip().encode(errors="surrogatepass")).hexdigest(), 16)
        % FAMILIES
    )


def chance(*causes: object) -> float:
    """A number in [0, 1) that depends on nothing but `causes`."""
    seed = "\x1f".join(map(str, causes)).encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest(), "big") / 2**64
