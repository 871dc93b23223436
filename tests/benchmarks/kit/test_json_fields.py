"""Answers that are JSON objects: what counts as equal, what is told of what is not."""

import pytest

from skillopt_cli.benchmarks.kit.scorers import make_scorer
from skillopt_cli.core.score import Score

TICKET = '{"product": "X200", "order": 19494, "customer": {"name": "Quist", "vip": true}}'


def scored(reply: str, *answers: str) -> Score:
    return make_scorer("json").score({"answers": answers or (TICKET,)}, reply)


@pytest.mark.parametrize(
    "reply",
    [
        TICKET,
        f"Here it is.\n<answer>{TICKET}</answer>",
        f"<answer>```json\n{TICKET}\n```</answer>",
        f"```\n{TICKET}\n```",
        '{"customer": {"vip": true, "name": " Quist "}, "order": 19494.0, "product": "X200"}',
    ],
)
def test_the_form_around_the_fields_does_not_count(reply: str) -> None:
    assert scored(reply) == Score(1.0, 1.0, "", (TICKET,))


@pytest.mark.parametrize(
    ("reply", "soft", "feedback"),
    [
        (
            '{"product": "x200", "order": 19494, "customer": {"name": "Quist", "vip": true}}',
            0.75,
            '`product`: expected "X200", got "x200"',
        ),
        (
            '{"product": "X200", "order": "19494", "customer": {"name": "Quist", "vip": 1}}',
            0.5,
            '`order`: expected 19494, got "19494"; `customer.vip`: expected true, got 1',
        ),
        (
            '{"product": "X200", "order": 19494, "note": "", "customer": {"vip": true}}',
            0.6,
            '`customer.name` is missing, expected "Quist"; `note` is not asked for',
        ),
        ("{}", 0.0, "`product` is missing"),
    ],
)
def test_each_wrong_field_costs_its_share_and_is_named(
    reply: str, soft: float, feedback: str
) -> None:
    score = scored(reply)
    assert (score.hard, score.soft) == (0.0, pytest.approx(soft))
    assert score.feedback.startswith(feedback)


@pytest.mark.parametrize(
    "reply", ["", "[1]", "no ticket", TICKET[:-1], f"Ticket: {TICKET}", '{"order": NaN}', "null"]
)
def test_what_is_no_object_is_wrong_as_a_whole(reply: str) -> None:
    score = scored(reply)
    assert (score.hard, score.soft) == (0.0, 0.0)
    assert "is no JSON object" in score.feedback


def test_the_nearest_of_several_references_counts() -> None:
    score = scored('{"a": 1, "b": 3}', '{"a": 9, "b": 9}', '{"a": 1, "b": 2}')
    assert (score.soft, score.feedback) == (0.5, "`b`: expected 2, got 3")


def test_a_list_is_one_value_in_its_order() -> None:
    assert scored('{"a": [1, {"b": "x "}]}', '{"a": [1, {"b": "x"}]}').hard == 1.0
    assert scored('{"a": [2, 1]}', '{"a": [1, 2]}').soft == 0.0


@pytest.mark.parametrize(
    "reply",
    [
        '{"product": "\\ud800"}',
        '{"product": ' + "[" * 900 + "]" * 900 + "}",
        '{"a":' * 900 + "1" + "}" * 900,
        '{"product": 1e999}',
    ],
)
def test_odd_objects_are_wrong_and_can_be_told(reply: str) -> None:
    score = scored(reply)
    assert score.hard == 0.0
    assert score.feedback.encode()


def test_many_wrong_fields_are_counted() -> None:
    reference = "{" + ", ".join(f'"f{n}": {n}' for n in range(20)) + "}"
    assert scored('{"f19": 19}', reference).feedback.endswith("; and 11 fields more")
