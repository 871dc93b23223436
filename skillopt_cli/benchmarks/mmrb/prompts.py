"""Prompts of MMRB."""

from skillopt_cli.benchmarks.kit.prompts import Prompts

_TASKS = """\
These tasks are questions about several pictures each: which comes first, what has changed, what
they have in common, how many there are in all. The text says `[image n]` where a picture stands.
You do not see the pictures."""

PROMPTS = Prompts(
    role="You reason over several pictures and answer a question about all of them together.",
    answer_format=(
        "Reason as long as you need. Then end with the final answer alone between tags: the letter"
        " where options are given, for example <answer>B</answer>, else the short answer, for"
        " example <answer>7</answer>"
    ),
    seed_skill="""\
# Several pictures

- Look at every picture by its number, and note what the question needs of each.
- Compare the notes across the pictures: what stays, what changes, in which order.
- With options: test each one against all the pictures, and drop those that one picture rules out.
- Without options: answer as briefly as the question allows, with a number, a word or a name.
- Give the final answer once, at the end.
""",
    failures=f"""{_TASKS} Kinds of failures to tell apart: a picture was left out or
taken for another one (`image_mixup`), pictures were looked at but not compared (`no_comparison`),
an option was taken that one picture rules out (`option_mismatch`), the answer is in another form
than asked for (`answer_form`), or something else (`other`).""",
    successes=f"""{_TASKS} Habits worth a rule are ways of going through the pictures, of
keeping apart what each one shows, and of testing options against all of them.""",
)
