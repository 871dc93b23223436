"""SealQA's score: clear cases without a judge, all others by its verdict."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_cli.benchmarks.answers import contrast, extract_answer
from skillopt_cli.benchmarks.judging import Judgement, Verdict, ask, read_verdict
from skillopt_cli.benchmarks.sealqa.wording import RUBRIC
from skillopt_cli.benchmarks.squad import normalise
from skillopt_cli.core.score import Private, Score
from skillopt_cli.core.task import Message

VERDICTS: tuple[Verdict, ...] = ("correct", "incorrect", "not_attempted")


def clear_score(reply: str, references: Sequence[str]) -> Score | None:
    """The score of an empty answer, or of one that equals a reference but for its form."""
    answer = extract_answer(reply)
    wanted = tuple(references)
    if not answer.strip():
        return Score(0.0, 0.0, contrast(wanted, ""), wanted)
    said = normalise(answer)
    if said and any(said == normalise(reference) for reference in references):
        return Score(1.0, 1.0, "", wanted)
    return None


def question_for_judge(question: str, references: Sequence[str], reply: str) -> tuple[Message, ...]:
    """What the judge is asked of an answer that is not clear."""
    judgement = Judgement(question, " or ".join(references), extract_answer(reply))
    return ask(RUBRIC, judgement, VERDICTS)


def judged_score(verdict_reply: str, reply: str, references: Sequence[str]) -> Score | None:
    """The score that a judge's reply means; None when it cannot be read."""
    verdict = read_verdict(verdict_reply, VERDICTS)
    if verdict is None:
        return None
    wanted, private = tuple(references), Private(verdict_reply)
    if verdict == "correct":
        return Score(1.0, 1.0, "", wanted, private)
    open_ = "; it leaves the question open" if verdict == "not_attempted" else ""
    feedback = contrast(wanted, extract_answer(reply)) + open_
    return Score(0.0, 0.0, feedback, wanted, private)
