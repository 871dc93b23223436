"""Replies of a model that repeats itself to its token limit are scored at once, whatever repeats.

Scorers run between the calls of a whole run: one that needs a minute holds up everything.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest

from skillopt_cli.benchmarks.alfworld.episode import action_of
from skillopt_cli.benchmarks.babyvision import scoring as babyvision
from skillopt_cli.benchmarks.docvqa.scoring import anls_score
from skillopt_cli.benchmarks.kit import answers, choices, judges, squad
from skillopt_cli.benchmarks.kit.numbers import last_number
from skillopt_cli.benchmarks.mathverse import scoring as mathverse
from skillopt_cli.benchmarks.mmrb import scoring as mmrb
from skillopt_cli.benchmarks.officeqa.scoring import AnswerScorer
from skillopt_cli.benchmarks.swebench.scoring import read_log
from skillopt_cli.core.reply_text import read_text

LENGTH = 150_000
PIECES = (
    *(" ", "\n", "\t", "~", "`", "'", "{", "(", "*", "1", "1,", "1.", "the ", "the-", "A ", "B -"),
    *("=\n", "```\n", "option ", "answer is ", "answer[", "> ", "| ", "$", "\\text{", "\\boxed{"),
    *("<answer>", "</answer>", "<action>", "<|begin_of_box|>", "PASSED ", "FAILED a - "),
    *(
        "<think>",
        "</think>",
        "a <think>",
        "<|channel|>",
        "analysis ",
        "final ",
        "<|im_end|>",
        "<eos> ",
    ),
    *("1 ", "1-", "5 km ", "1/", "1e5 ", "-", "and ", '{"a": ', '"', "\\", "[1, "),
)
FREE = {"choices": [], "right": None, "answer": "5", "lettered": False}
CHOSEN = {"choices": ["x", "y"], "right": 1, "answer": "B", "lettered": True}
READERS: dict[str, Callable[[str], Any]] = {
    "reply": read_text,
    "number": last_number,
    "squad": lambda reply: squad.squad_score(answers.extract_answer(reply), ("x",)),
    "anls": lambda reply: anls_score(answers.extract_answer(reply), ("x",)),
    "choice": lambda reply: choices.chosen(answers.extract_answer(reply), ["x", "y"]),
    "contains": answers.tagged_or_all,
    "officeqa": lambda reply: AnswerScorer().score(reply, "5"),
    "officeqa numeric": lambda reply: AnswerScorer("numeric").score(reply, "5"),
    "mmrb": lambda reply: mmrb.score_answer(FREE, mmrb.answered(reply), "same"),
    "mmrb choice": lambda reply: mmrb.score_answer(CHOSEN, mmrb.answered(reply), "same"),
    "mathverse": lambda reply: mathverse.clear_score(FREE, mathverse.answered(reply), "published"),
    "babyvision": lambda reply: babyvision.clear_score(FREE, babyvision.boxed(reply)),
    "babyvision boxed": lambda reply: babyvision.clear_score(FREE, reply),
    "babyvision choice": lambda reply: babyvision.clear_score(CHOSEN, reply),
    "judge": lambda reply: judges.read_verdict(reply, ("correct", "incorrect", "not_attempted")),
    "alfworld": action_of,
    "swebench": lambda log: read_log(log, 0),
}
if importlib.util.find_spec("openpyxl"):
    from skillopt_cli.benchmarks.spreadsheetbench.scripts import code_in

    READERS["spreadsheetbench"] = code_in


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", READERS)
def test_no_reply_takes_long_to_read(name: str) -> None:
    for piece in PIECES:
        repeated = piece * (LENGTH // len(piece))
        READERS[name](repeated)
        READERS[name](f"a{repeated}b")
        READERS[name](f"<answer>{repeated}</answer>")
