"""Prompts of OfficeQA."""

from skillopt_cli.benchmarks.kit.prompts import Prompts

ANSWER = (
    "End with the answer alone between tags, as exact as the question asks for it, "
    "for example: <answer>1,234</answer>"
)
WITH_FILES = (
    "Look the figures up in the documents. If you have the tools `glob`, `read` and `grep`, {turns}"
    " replies are the most you have, the one with the answer included, and a reply without a call"
    " ends the task."
)
WITH_SEARCH = (
    "Find what you need with the tool `search`; {turns} replies are the most you have, the one"
    " with the answer included. A reply without a tool call ends the task."
)
CORPUS = "No document is named for this question. There are {n}; `glob` lists them."

_TASKS = """\
These tasks ask for figures from long documents with tables, often with a small calculation. The
target looks for them with tools, or is shown the pages in question."""

PROMPTS = Prompts(
    role="You answer questions about figures in the bulletins of a treasury.",
    seed_skill="""\
# Figures from documents

- Finding: settle which table, row, period and unit the question means, then look for its exact
  words; try shorter pieces of them when nothing is found.
- Evidence: read the heading and the unit of a table before taking a number from it, and take every
  number from the documents, none from memory.
- Answering: compute with the numbers as printed and round once, at the end. Give the number in the
  form and unit that the question asks for, and nothing else.
""",
    failures=f"""{_TASKS} Kinds of failures to tell apart: the right place was never opened
(`retrieval_miss`), it was open and overlooked or misread (`evidence_miss`), the calculation took a
wrong row, period or unit (`operand_error`), the right numbers were combined wrongly
(`calculation_error`), the answer is right in another form (`answer_format`), or something else
(`other`). Look at the steps: which words were searched for, and what came back.""",
    successes=f"""{_TASKS} Habits worth a rule are ways of finding the place quickly, of making \
sure of table,
period and unit, and of giving the number as it is wanted.""",
)
