"""Reading answers: whatever stands around the one object, and nothing but the one object."""

from __future__ import annotations

import json
import string
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from reading_tables import rows

from skillopt_cli.core.control_characters import CONTROL
from skillopt_cli.core.edits import apply_edits
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.stages.answer_parsing import UnusableAnswer, read_answer
from skillopt_cli.stages.answer_schemas import (
    Consolidation,
    Contract,
    FailureAnalysis,
    FailurePattern,
    Guidance,
    Merge,
    Notes,
    ProposedEdit,
    Ranking,
)
from skillopt_cli.stages.modes import MODES
from skillopt_cli.stages.rewrite_schemas import Rate
from skillopt_cli.stages.skill_aware import Noting
from skillopt_cli.stages.skill_files import FiledEdit

DRAFT = '{"edits": [{"op": "append", "content": "- draft"}]}'
FINAL = '{"reasoning": "r", "edits": [{"op": "append", "content": "- final"}]}'


def contents(text: str) -> list[str]:
    return [edit.content for edit in read_answer(text, Merge).edits]


@pytest.mark.parametrize(
    "text",
    [
        FINAL,
        f"```json\n{FINAL}\n```",
        f"Here it is:\n````\n```json\n{FINAL}\n```\n````\nDone.",
        f"{FINAL}\n\nI left the rule about {{names}} alone.",  # T11
        f"The set {{a, b}} and the object {{}} are not it. {FINAL} {{}}",
        f"<think>{DRAFT} or rather {{</think>{FINAL}",  # T11
        f"<Reasoning>\n{DRAFT}\n</reasoning>\n{FINAL}",
        f"<think>{DRAFT}</think>and<thinking>{DRAFT}</thinking>{FINAL}",
        f"{DRAFT} is what I thought first.\n</think>\n{FINAL}",  # the server ate the opening tag
        f"{FINAL}{FINAL}",
        f"{FINAL}\n{json.dumps(json.loads(FINAL), indent=2)}",
        f"{FINAL} {{",
        FINAL.replace('"edits"', '"extra": {"edits": []}, "edits"'),
        "\ufeff" + FINAL,
    ],
)
def test_the_one_answer_is_found(text: str) -> None:
    assert contents(text) == ["- final"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no JSON object"),
        ("I have no proposals.", "no JSON object"),
        ("null", "no JSON object"),
        ("[]", "no JSON object"),
        ('"edits"', "no JSON object"),
        ("{}", "edits: Field required"),
        ('{"edits": "none"}', "edits: Input should be a valid list"),
        ('{"edits": [{"content": "x"}]}', "edits.0.op: Field required"),
        ('{"edits": [{"op": "append", "support": -1}]}', "edits.0.support"),
        ('[{"op": "append", "content": "x"}]', "edits: Field required"),
        (f"{DRAFT}\n{FINAL}", "2 different answers"),
        (f"[{DRAFT}, {FINAL}]", "2 different answers"),
        (f"<think>{FINAL}", "no JSON object"),  # reasoning without an end holds no answer
        (FINAL[:-1], "no JSON object"),
        (FINAL[:40], "no JSON object"),
        (f'{{"draft": {DRAFT}, "final": {{"edits": [', "no JSON object"),
        (f'{{"draft": {DRAFT}, "note": "and th', "no JSON object"),
        ('{"a":' * 5000, "no JSON object"),
        ("{" * 5000, "no JSON object"),
        ('{"edits": ' + "[" * 5000, "no JSON object"),
        ('{"edits": ' + "9" * 5000 + "}", "no JSON object"),
    ],
)
def test_anything_else_is_a_named_fault(text: str, fault: str) -> None:
    with pytest.raises(UnusableAnswer) as caught:
        read_answer(text, Merge)
    assert fault in str(caught.value)


@pytest.mark.parametrize("row", rows("2_answers"), ids=lambda row: repr(row["answer"]))
def test_an_answer_is_read_as_the_table_shows(row: dict[str, Any]) -> None:
    repairs: list[str] = []
    if "fault" in row:
        with pytest.raises(UnusableAnswer) as caught:
            read_answer(row["answer"], Merge, repairs.append)
        assert row["fault"] in str(caught.value)
        return
    read = read_answer(row["answer"], Merge, repairs.append)
    assert [edit.content for edit in read.edits] == row["contents"]
    assert len(repairs) == ("repaired" in row)
    assert row.get("repaired", "") in "".join(repairs)


def test_every_way_of_cutting_an_answer_short_is_refused() -> None:
    wrapped = f'{{"edits": [], "note": {DRAFT}, "more": [1, "x", {{"y": null}}]}}'
    trailing, literal = FINAL.replace("}]}", "},],}"), repr(json.loads(FINAL))
    lone = FINAL.replace("- final", r"Match \d{2} [a]")
    for text in (FINAL, wrapped, trailing, literal, lone):
        for end in range(len(text)):
            with pytest.raises(UnusableAnswer):
                read_answer(text[:end], Merge)


def test_texts_are_kept_to_the_letter() -> None:
    for content in (
        "  - nested\n    - deeper  \n",
        'Think in <think>{steps}</think> first, then `}` {"a": 1}',
        "größer 漢字 \U0001f989 \u2028 \t",
        "```json\n{}\n```",
    ):
        for ascii_only in (True, False):
            edit = {"op": "append", "content": content}
            answer = json.dumps({"edits": [edit]}, ensure_ascii=ascii_only)
            assert contents(f"<think>{{</think>\n```json\n{answer}\n```") == [content]


def test_a_raw_line_break_in_a_string_is_read_as_one() -> None:
    assert contents('{"edits": [{"op": "append", "content": "a\n  b"}]}') == ["a\n  b"]


def test_half_a_surrogate_pair_is_refused_as_no_text_can_hold_it() -> None:
    with pytest.raises(UnusableAnswer, match="content"):
        read_answer('{"edits": [{"op": "append", "content": "\\ud83e"}]}', Merge)


@pytest.mark.parametrize(
    ("said", "op"),
    [("add", "append"), (" Remove ", "delete"), ("INSERT", "insert_after"), ("append", "append"),
     ("update", "replace"), ("transmogrify", "transmogrify"), ("Append", "append"),
     (" REPLACE ", "replace"), ("Insert-After", "insert_after"), ("delete", "delete")],
)  # fmt: skip
def test_common_names_of_operations_are_understood(said: str, op: str) -> None:  # T14
    assert ProposedEdit.model_validate({"op": said}).edit("failure").op == op


def test_null_is_an_empty_text_and_other_types_are_faults() -> None:
    edit = ProposedEdit.model_validate({"op": "append", "content": None, "target": None})
    assert (edit.content, edit.target) == ("", "")
    with pytest.raises(UnusableAnswer, match=r"edits\.0\.content"):
        read_answer('{"edits": [{"op": "append", "content": ["x"]}]}', Merge)


@pytest.mark.parametrize(
    "contract",
    [*(c for mode in MODES.values() for c in (*mode.analysis.values(), mode.merge)),
     FailurePattern, ProposedEdit, FiledEdit, Noting, Rate, Ranking, Consolidation, Guidance,
     Notes],
)  # fmt: skip
def test_null_is_what_was_left_out_and_is_a_fault_where_nothing_may_be(
    contract: type[Contract],
) -> None:
    needed = {
        "op": "append", "edits": [], "suggestions": [], "new_skill": "x", "failure_type": "x",
        "learning_rate": 1, "selected_indices": [], "notes": [], "slow_update_content": "x",
        "meta_skill_content": "x",
    }  # fmt: skip
    fields = contract.model_fields
    least = {name: needed[name] for name, field in fields.items() if field.is_required()}
    nulls = {name: None for name in fields if name not in least}
    assert contract.model_validate(least | nulls) == contract.model_validate(least)
    for name in ("edits", "suggestions", "learning_rate", "selected_indices", "notes"):
        if name in least:
            with pytest.raises(ValidationError):
                contract.model_validate(least | {name: None})


@pytest.mark.parametrize(
    ("contract", "key"), [(Guidance, "slow_update_content"), (Notes, "meta_skill_content")]
)
@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\u2028"])
def test_a_blank_text_is_no_guidance_and_no_notes(
    contract: type[Contract], key: str, blank: str
) -> None:
    with pytest.raises(UnusableAnswer, match=key):
        read_answer(json.dumps({key: blank}), contract)


def test_patterns_are_put_into_words() -> None:
    answer = read_answer(
        '{"edits": [], "failure_summary": [{"failure_type": "long", "description": "a sentence"},'
        ' {"failure_type": "wrong", "count": 2}]}',
        FailureAnalysis,
    )
    assert answer.patterns == ("long: a sentence", "wrong")


def test_a_ranking_holds_whole_numbers() -> None:
    assert read_answer('{"selected_indices": [2, 0]}', Ranking).selected_indices == [2, 0]
    with pytest.raises(UnusableAnswer):
        read_answer('{"selected_indices": [0.5]}', Ranking)


NOISE = st.lists(
    st.sampled_from(["{", "}", "[", "]", '"', "\\", "<think>", "</think>", ":", ",", "a", DRAFT])
).map("".join)


@settings(max_examples=150)
@given(NOISE)
def test_noise_is_an_answer_or_a_fault_and_never_anything_else(text: str) -> None:
    try:
        assert [edit.content for edit in read_answer(text, Merge).edits] == ["- draft"]
    except UnusableAnswer as fault:
        assert str(fault)


CONTENT = [
    "Match \\d+", "\\frac{a}", "\\beta", "\\(x\\)", "thing", " ", "\\n- ", "\\t", "\\r", "\\u0000",
    "\\u0008", "\\u12", "\\ud83e", "\x00", "\x1b[31m", "\n", "\r", "</think>", "{", "}", "[", "]",
    ",", ":", '\\"', "'", '"', "```", "é", "\u202e",
]  # fmt: skip
AROUND = [
    "", "```json\n", "\n```", "<think>", "</think>", "[", "]", "Here {x}: ", DRAFT, ",", "'", '"',
    "}", "<|im_end|>",
]  # fmt: skip
FORMS = [
    '{"edits": [%s]}',
    '{"edits": [%s,],}',
    "{'edits': [%s]}",
    '{"edits" [%s]',
    "{edits: [%s]}",
]


def generated(draw: Random) -> str:
    """An answer with one edit, in one of many forms, whole or cut."""
    content = "".join(draw.choices(CONTENT, k=draw.randrange(6)))
    edit = draw.choice(['{"op": "append", "content": "%s"}', "{'op': 'append', 'content': '%s'}"])
    text = draw.choice(FORMS) % (edit % content)
    text = draw.choice(AROUND) + draw.choice(AROUND) + text + draw.choice(AROUND)
    return text[: draw.randrange(len(text))] if draw.random() < 0.3 else text


@pytest.mark.parametrize("quote", ['"', "'"])
@pytest.mark.parametrize("fault", ["", ","])
def test_no_lone_backslash_and_nothing_behind_it_is_lost(quote: str, fault: str) -> None:
    for character in set(string.ascii_letters + string.digits + string.punctuation) - set(
        "\"'\\/nrtbf"
    ):
        written = f'{{"edits": [{{"op": "append", "content": "a\\{character}b"}}{fault}]}}'
        answer = read_answer(written.replace('"', quote), Merge)
        assert [edit.content for edit in answer.edits] == [f"a\\{character}b"]


def check_answer(text: str) -> bool:
    """Whether it is usable; nothing of it brings a control character into a skill."""
    repairs: list[str] = []
    try:
        answer = read_answer(text, Merge, repairs.append)
    except UnusableAnswer as fault:
        assert str(fault)
        return False
    edits = answer.proposed("failure", 1)
    skill = apply_edits(SkillDocument("# Skill\n"), edits).skill
    assert not CONTROL.search(skill.text)
    skill.text.encode()
    again = json.dumps({"edits": [{"op": e.op, "content": e.content} for e in edits]})
    assert read_answer(again, Merge).proposed("failure", 1) == edits
    return True


def test_generated_answers_are_read_or_refused() -> None:
    draw = Random(18)
    usable = sum(check_answer(generated(draw)) for _ in range(300))
    assert 30 < usable < 270


@pytest.mark.slow
def test_twenty_thousand_generated_answers_are_read_or_refused() -> None:
    draw = Random(19)
    for _ in range(20_000):
        check_answer(generated(draw))
