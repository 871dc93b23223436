"""Prompts of ALFWorld."""

from skillopt_cli.benchmarks.kit.prompts import Prompts

_KINDS = """\
The tasks are played in text: the model sees a goal, its last two steps, what it observes now and
the actions that are admissible, and names one of them. A game is won when the goal holds, and lost
when the steps are used up."""

PROMPTS = Prompts(
    role="You do a household task in a house that is described in text, one action at a time.",
    answer_format=(
        "First think over the situation between <think> and </think>. Then give exactly one of the"
        " admissible actions, word for word, between <action> and </action>, for example:"
        " <action>open cabinet 1</action>"
    ),
    seed_skill="""\
# Household tasks

Reason briefly in <think> tags, then give one admissible action in <action> tags.

## Kinds of tasks

| Task | Steps |
|---|---|
| put a thing in a place | find it, take it, go to the place, move it there |
| put two things in a place | do the same with one, then with the other |
| put a clean thing in a place | find it, take it, clean it at a sinkbasin, deliver it |
| put a hot thing in a place | find it, take it, heat it with a microwave, deliver it |
| put a cool thing in a place | find it, take it, cool it with a fridge, deliver it |
| look at a thing under a lamp | find it, take it, go to the lamp, use the lamp |

## Principles

- Search one place after the other, the likely ones first. Open what is closed.
- Take the thing as soon as it is seen. Only one thing can be carried.
- Clean, heat or cool before the thing is put down.
- Do not repeat an action that changed nothing.
""",
    failures=f"""{_KINDS} Tell these causes apart, as far as the steps show them:
the same few places again and again; a thing that was in sight and not taken; steps in the wrong
order, such as delivering before heating; a search that ended too early; one action over and over;
an appliance used wrongly; an action that was not admissible, or no action at all; a rule of the
skill that is missing, wrong or was not followed.""",
    successes=f"""{_KINDS} Habits worth a rule are orders of search, how a thing is prepared and
delivered, how steps are saved, and how a mistake was mended.""",
)
