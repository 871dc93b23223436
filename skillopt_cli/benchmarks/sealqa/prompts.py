"""Prompts of SealQA."""

from skillopt_cli.benchmarks.kit.prompts import Prompts

ANSWER = "End with the short answer alone between tags, for example: <answer>Mount Everest</answer>"
GIVEN = "You have what stands here and no tools."
WITH_SEARCH = (
    "You can search for more; {turns} replies are the most you have, the one with the answer"
    " included. A reply without a tool call ends the task."
)

_TASKS = """\
These tasks are questions for which a search gives conflicting, outdated or misleading results. A
judge compares the answer with a reference."""

PROMPTS = Prompts(
    role="You answer questions whose sources contradict each other, are out of date or mislead.",
    rubric="""\
You compare an answer to a question with the reference answer, which is right. The answer is
CORRECT when it says what the reference says, in whatever words, and nothing that contradicts it;
typing errors, missing titles and more detail do no harm, and a number must agree to the last digit
the reference gives. It is INCORRECT when any part of it contradicts the reference, even if it
hedges, or names several candidates. It is NOT_ATTEMPTED when it leaves the question open and
contradicts nothing. What the question already says need not be repeated. Do not answer the question
yourself, and do not use what you know about the subject.""",
    seed_skill="""\
# Answers from conflicting sources

- Gathering: note of each source what it says, when it was written, and whether it is about the very
  thing that was asked. Search again with other words when the sources disagree.
- Weighing: prefer what is close to the matter and recent to what repeats others. A more frequent
  statement is not a truer one.
- Answering: decide on one answer and give it in few words. When nothing supports any, say so.
""",
    failures=f"""{_TASKS} Kinds of failures to tell apart: the decisive source was not found
(`retrieval_miss`), it was there and another one was believed (`evidence_conflict`), the sources
were read rightly and the wrong thing was answered (`answer_selection`), no answer was given
(`not_attempted`), or something else (`other`). Say what in the sources should have told which to
believe.""",
    successes=f"""{_TASKS} Habits worth a rule are ways of telling which source to believe, and \
when to search
again.""",
)
