"""Tools with checked arguments."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field

from skillopt_cli.benchmarks.kit.tools import Offer, ToolFault, ToolLoop
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


READ = Offer("read", "Read a file.", Where, read)
TOOLS = ToolLoop([READ])


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
    assert await TOOLS.use(ToolCall("c", name, arguments)) == result


@pytest.mark.parametrize("arguments", ["", "{", "[]", "3", '{"start": 2}', '{"path": 3}'])
async def test_arguments_that_do_not_fit_are_failed_results(arguments: str) -> None:
    result = await TOOLS.use(ToolCall("c", "read", arguments))
    assert result.failed
    assert "arguments" in result.text


def test_the_schema_describes_each_argument() -> None:
    tool = READ.tool
    assert tool.parameters["required"] == ["path"]
    assert tool.parameters["properties"]["path"]["description"] == "a file"
