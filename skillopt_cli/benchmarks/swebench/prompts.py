"""Prompts of SWE-bench."""

from skillopt_cli.benchmarks.kit.prompts import Prompts

PROMPTS = Prompts(
    role="You fix a fault in a software repository.",
    answer_format=(
        "You work in the repository's folder, with the tools you are given. Find the cause, change"
        " the sources, and check your change by running something. Leave the tests that are there,"
        " and how they are run, alone: others, which you do not see, decide. When the fault is"
        " fixed, say in one sentence, without a tool call, what you changed. Only changed files"
        " count."
    ),
    seed_skill="""\
# Mending a repository

1. Read the issue and say in one line what is wrong and what is wanted.
2. Find the code: search for names and messages of the issue.
3. Reproduce the fault with a short script.
4. Make the smallest change at its cause.
5. Run the script and the tests near it again.
6. Look at the difference before you end.
""",
    failures="""\
The tasks are issues of software repositories. You see the issue, the commands and edits the model
made with what came of them, and how many of the hidden tests failed. Tell these causes apart: it
did not find the place; it mended the symptom and not the cause; it missed cases the issue names;
it broke something that worked; it changed tests or nothing at all; it ran out of turns. Names of
files, functions and projects of these tasks do not belong in the skill: the next issues are about
other code.
""",
    successes="""\
The tasks are issues of software repositories. Habits worth a rule are how the place was found,
how the fault was reproduced, how the change was kept small, and how it was checked. Names of
files, functions and projects of these tasks do not belong in the skill.
""",
)
