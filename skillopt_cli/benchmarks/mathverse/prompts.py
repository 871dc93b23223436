"""Prompts of MathVerse."""

from skillopt_cli.benchmarks.kit.prompts import Prompts

IN_PICTURE = "Read the question from the picture."

_TASKS = """\
These tasks are problems of mathematics, most of geometry, whose text leaves to the diagram what can
be read there. You do not see the diagrams."""

PROMPTS = Prompts(
    role="You solve a problem of mathematics that comes with a diagram.",
    answer_format=(
        "Reason as long as you need. Then end with the final answer alone between tags: the letter"
        " where options are given, else the value, for example <answer>12\\sqrt{3}</answer>"
    ),
    seed_skill="""\
# Mathematics with a diagram

- Read the diagram first: write down every length, angle, mark and label it gives.
- List the conditions of the text, and use each of them.
- With options: work out the value before looking at them.
- Give the final answer alone, in the form and unit the question asks for.
""",
    rubric="""\
You compare an answer to a problem of mathematics with the reference. The answer is correct when
both are mathematically equal: the same number, expression, equation or set, in whatever notation,
rounded as the reference is. A unit that one of them leaves out does no harm, a different unit does.
An answer that hedges, or that is missing, is incorrect. Do not solve the problem yourself.""",
    failures=f"""{_TASKS} Kinds of failures to tell apart: something in the diagram was
not used (`diagram_underuse`), a condition was dropped (`constraint_drop`), options were mixed up
(`option_confusion`), the answer has the wrong form (`format_miss`), or something else
(`other`).""",
    successes=f"""{_TASKS} Habits worth a rule are ways of reading a diagram, of keeping
conditions in view, and of checking a value before it is given.""",
)
