"""Tools with checked arguments, and verdicts that are read strictly."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field

from skillopt_cli.benchmarks.judging import read_verdict
from skillopt_cli.benchmarks.toolbox import Offer, Toolbox, ToolFault
from skillopt_cli.core.episode import ToolCall, ToolResult


class Where(BaseModel):
    path: str = Field(description="a file")
    start: int = 1


async def read(where: Where) -> str | ToolResult:
    if where.path == "end":
        return ToolResult("over", over=True)
    if where.path != "a.txt":
        raise ToolFault(f"There is no file {where.path}.")
    return f"{where.path} from {where.start}"


BOX = Toolbox([Offer("read", "Read a file.", Where, read)])


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("read", '{"path": "a.txt", "start": 3}', ToolResult("a.txt from 3")),
        ("read", '{"path": "end"}', ToolResult("over", over=True)),
        ("read", '{"path": "b"}', ToolResult("There is no file b.", failed=True)),
        ("write", "{}", ToolResult("There is no tool `write`; there are read.", failed=True)),
    ],
)
async def test_a_call_is_carried_out(name: str, arguments: str, result: ToolResult) -> None:
    assert await BOX.use(ToolCall("c", name, arguments)) == result


@pytest.mark.parametrize("arguments", ["", "{", "[]", "3", '{"start": 2}', '{"path": 3}'])
async def test_arguments_that_do_not_fit_are_told(arguments: str) -> None:
    result = await BOX.use(ToolCall("c", "read", arguments))
    assert result.failed
    assert "arguments" in result.text


def test_the_schema_tells_the_model_of_each_argument() -> None:
    (tool,) = BOX.tools
    assert tool.parameters["required"] == ["path"]
    assert tool.parameters["properties"]["path"]["description"] == "a file"


ALL = ("correct", "incorrect", "not_attempted")


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("CORRECT", "correct"),
        ("correct.", "correct"),
        ("**INCORRECT**", "incorrect"),
        ("A", "correct"),
        ("B", "incorrect"),
        ("(C)", "not_attempted"),
        ("A: CORRECT", "correct"),
        ("B (incorrect)", "incorrect"),
        ("NOT_ATTEMPTED", "not_attempted"),
        ("Not attempted", "not_attempted"),
        ("True", "correct"),
        ("false\n", "incorrect"),
        ("Verdict: CORRECT", "correct"),
        ("Final grade: B", "incorrect"),
        ("It says so in the text.\n\nCORRECT", "correct"),
        ('{"verdict": "incorrect"}', "incorrect"),
        ('```json\n{"correct": true}\n```', "correct"),
        ("", None),
        ("not correct", None),
        ("CORRECT or INCORRECT", None),
        ("A B", None),
        ("The answer is correct in part", None),
        ("A: INCORRECT", None),
        ("maybe", None),
        ("{}", None),
    ],
)
def test_a_verdict_is_read_strictly(reply: str, verdict: str | None) -> None:
    assert read_verdict(reply, ALL) == verdict


def test_a_verdict_that_was_not_offered_is_none() -> None:
    assert read_verdict("C", ("correct", "incorrect")) is None
