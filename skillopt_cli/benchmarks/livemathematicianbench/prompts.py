"""Prompts of LiveMathematicianBench."""

from skillopt_cli.benchmarks.kit.prompts import Prompts

_TASKS = """\
These tasks are multiple choice about theorems of current mathematics. The options are near to each
other; one is exactly what holds. The labels are shuffled: a rule about positions or labels is worth
nothing."""

PROMPTS = Prompts(
    role="You are a mathematician who decides which of several statements a proof supports.",
    answer_format=(
        "Reason as long as you need. Then end with the label of the option alone between tags, "
        "for example: <answer>C</answer>"
    ),
    seed_skill="""\
# Choosing among mathematical statements

- Compare the options first: where do they differ in a quantifier, a bound or a hypothesis?
- Choose the strongest statement that is justified, neither weakened nor overstated.
- Check every hypothesis, and the cases of equality and of degeneration.
- Answer with the label alone.
""",
    failures=f"""{_TASKS} Kinds of failures to tell apart: a quantifier was misread
(`quantifier_miss`), a statement was taken that is too weak or too strong (`strength_mismatch`), a
hypothesis or a case of equality was overlooked (`condition_miss`), two options were mixed up
(`option_confusion`), or something else (`other`).""",
    successes=f"""{_TASKS} Habits worth a rule are ways of telling options apart: by their
quantifiers, their strength, their hypotheses, and by extreme cases.""",
)
