"""Prompts of DocVQA."""

from skillopt_cli.benchmarks.kit.prompts import Prompts

_TASKS = """\
These tasks are questions about one page each: a form, a letter, a table, a receipt, a report. The
answer is a short piece of text, nearly always copied from the page, and is compared letter by
letter, case and spacing apart. You do not see the pages."""

PROMPTS = Prompts(
    role="You answer a question about one page of a document, from what can be seen on it.",
    answer_format=(
        "Think it over as long as you need. Then end with the answer alone between tags, copied"
        " from the page where it stands there, for example: <answer>14 March 1968</answer>"
    ),
    seed_skill="""\
# Questions about pages

- Read the page before answering: titles, labels, columns, handwriting, stamps.
- Find the label, row or field the question names, and take what belongs to it.
- Copy the smallest piece of text that answers the question, exactly as it is written.
- Compare it with its neighbours before giving it.
""",
    failures=f"""{_TASKS} Kinds of failures to tell apart: the place on the page that
answers was not found (`evidence_miss`), a neighbour was taken for it (`near_match_confusion`), the
text was changed on its way, by a unit, a date or a word more or less (`normalization_error`),
letters or digits were misread (`reading_error`), or something else (`other`).""",
    successes=f"""{_TASKS} Habits worth a rule are ways of finding the right field, row
or line, and of copying no more and no less than was asked for.""",
)
