"""Scripts for workbooks: a few kinds of instructions, known by their words.

Unless the skill holds the rules of the instruction's family, what is written into cells has words
around it. An instruction of another kind gets a script that only saves the workbook.
"""

from __future__ import annotations

import json
import re

from skillopt_cli.backends.simulated.sections import last_section
from skillopt_cli.backends.simulated.world import family_of, harm, missing
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.task import ChatReply, ChatRequest

_START = """\
import openpyxl

wb = openpyxl.load_workbook({given})
ws = wb[{sheet!r}] if {sheet!r} in wb.sheetnames else wb.worksheets[0]
head = {{cell.value: cell.column for cell in ws[1] if cell.value is not None}}
rows = [row for row in range(2, ws.max_row + 1) if ws.cell(row, 1).value is not None]
put = lambda value: {put}
of = lambda name: [ws.cell(row, head[name]).value for row in rows]
"""
_END = "wb.save({made})\n"
_TICKED = r"`([^`]+)`"
_KINDS = (
    (
        rf"(sum|largest|smallest|average)\b.* of the column {_TICKED} .*into cell (\w+)",
        "values = [value for value in of({1!r}) if value is not None]\n"
        "found = {{'sum': sum, 'largest': max, 'smallest': min}}.get({0!r})\n"
        "ws[{2!r}] = put(found(values) if found else round(sum(values) / len(values), 2))\n",
    ),
    (
        rf"Count the rows .* whose {_TICKED} is {_TICKED}.* into cell (\w+)",
        "ws[{2!r}] = put(of({0!r}).count({1!r}))\n",
    ),
    (
        rf"a column {_TICKED} in column (\w+): {_TICKED} times {_TICKED}",
        "ws[{1!r} + '1'] = {0!r}\n"
        "for row, one, other in zip(rows, of({2!r}), of({3!r})):\n"
        "    ws[{1!r} + str(row)] = put(round(one * other, 2))\n",
    ),
    (
        rf"write the {_TICKED} of every row in capital letters to column (\w+)",
        "for row, value in zip(rows, of({0!r})):\n"
        "    ws[{1!r} + str(row)] = put(str(value).upper())\n",
    ),
    (
        rf"rows of sheet `.+?` whose {_TICKED} is {_TICKED} to a new sheet {_TICKED}",
        "new = wb.create_sheet({2!r})\n"
        "for row in ws.iter_rows(values_only=True):\n"
        "    if row[head[{0!r}] - 1] in ({0!r}, {1!r}):\n"
        "        new.append([put(value) for value in row])\n",
    ),
    (
        rf"put 0 into every blank cell of the column {_TICKED}",
        "for row in rows:\n"
        "    if ws.cell(row, head[{0!r}]).value is None:\n"
        "        ws.cell(row, head[{0!r}]).value = put(0)\n",
    ),
)
_LOOK = "import openpyxl; print(openpyxl.load_workbook('input.xlsx').sheetnames)"


class WorkbookPlayer:
    """Plays what has a workbook, and wants a script that reads INPUT_PATH."""

    def plays(self, request: ChatRequest) -> bool:
        """Whether the request is of this kind."""
        told, user = _system(request), _asked(request)
        return "INPUT_PATH" in told and bool(last_section(user, "workbook"))

    def play(self, request: ChatRequest) -> ChatReply:
        """A script; with tools, the steps of writing and running it."""
        told, task = _system(request), last_section(_asked(request), "task")
        family = family_of(task)
        clumsy = harm(family) in told or bool(missing(family, told))
        if not request.tools:
            code = _script(task, "INPUT_PATH", "OUTPUT_PATH", clumsy=clumsy)
            return ChatReply(f"```python\n{code}```")
        done = sum(message.role == "tool" for message in request.messages)
        code = _script(task, "'input.xlsx'", "'output.xlsx'", clumsy=clumsy)
        steps = (
            ("bash", {"cmd": f'python -c "{_LOOK}"'}),
            ("write_file", {"path": "solution.py", "content": code}),
            ("bash", {"cmd": "python solution.py"}),
        )
        if done >= len(steps):
            return ChatReply("The workbook is changed.")
        name, arguments = steps[done]
        call = ToolCall(f"call-{done}", name, json.dumps(arguments))
        return ChatReply("", finish="tool_calls", tool_calls=(call,))


def _script(task: str, given: str, made: str, *, clumsy: bool) -> str:
    named = re.search(r"sheet `(.+?)`", task)
    put = 'f"about {value}"' if clumsy else "value"
    sheet = named[1] if named else ""
    text = _START.format(given=given, sheet=sheet, put=put)
    for pattern, code in _KINDS:
        if found := re.search(pattern, task):
            return text + code.format(*found.groups()) + _END.format(made=made)
    return text + _END.format(made=made)


def _system(request: ChatRequest) -> str:
    return "\n".join(m.content for m in request.messages if m.role == "system")


def _asked(request: ChatRequest) -> str:
    return next((m.content for m in request.messages if m.role == "user"), "")
