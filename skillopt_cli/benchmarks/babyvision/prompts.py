"""Prompts of BabyVision."""

from skillopt_cli.benchmarks.kit.prompts import Prompts

_TASKS = """\
These tasks are questions about one picture each, of a kind that small children can answer: finding
differences, following lines, counting, completing patterns, seeing shapes in space. You do not see
the pictures."""

PROMPTS = Prompts(
    role="You look at a picture closely and answer a question about it.",
    answer_format=(
        "Think it over as long as you need. Then put the final answer into \\boxed{...}: the letter"
        " alone where options are given, for example \\boxed{C}, else the short answer, for example"
        " \\boxed{12}. Several answers are separated by commas."
    ),
    seed_skill="""\
# Looking at pictures

- Look at the whole picture first, then go through it part by part, in rows or along lines.
- With options: compare each one with the picture, and rule out those that differ in a detail.
- Without options: answer as exactly as the question asks, with a number, a word or a position.
- Put the final answer, and nothing else, into \\boxed{...}.
""",
    rubric="""\
You check an answer to a question about a picture that you do not see. The answer is correct when
it means the same as the reference: the same option, number, word or place, in whatever words or
notation. Answers for several blanks must all agree, in their order. An answer that hedges between
several possibilities, or that is missing, is incorrect. Do not solve the question yourself.""",
    failures=f"""{_TASKS} Kinds of failures to tell apart: a detail was overlooked or
miscounted (`visual_detail_miss`), an option was taken that does not match (`option_mismatch`), the
question was not followed (`instruction_slip`), the answer is too coarse, too fine or not in its
box (`answer_granularity`), or something else (`other`). Rules can only say how to look and how to
answer.""",
    successes=f"""{_TASKS} Habits worth a rule are ways of looking: in which order, what to mark,
what to count twice.""",
)
