"""Workbook scripts for a few kinds of instructions, recognized by their words.

Unless the skill holds the rules of the instruction's family, the script adds words to the values it
writes. For other kinds of instructions it only saves the workbook.
"""

from __future__ import annotations

import re

from skillopt_cli.backends.simulated.messages import (
    calling,
    last_section,
    system_text,
    user_text,
)
from skillopt_cli.backends.simulated.world import untaught
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


def solve_workbook(request: ChatRequest) -> ChatReply | None:
    """Return a script for a task with a workbook that asks for one reading INPUT_PATH, else None.

    With tools, return the steps of writing and running it.
    """
    has_workbook = bool(last_section(user_text(request), "workbook"))
    if not has_workbook or "INPUT_PATH" not in system_text(request):
        return None
    task = last_section(user_text(request), "task")
    clumsy = untaught(task, system_text(request))
    if not request.tools:
        code = _script(task, "INPUT_PATH", "OUTPUT_PATH", clumsy=clumsy)
        return ChatReply(f"```python\n{code}```")
    done = sum(message.role == "tool" for message in request.messages)
    code = _script(task, "'input.xlsx'", "'output.xlsx'", clumsy=clumsy)
    steps: tuple[tuple[str, dict[str, object]], ...] = (
        ("bash", {"cmd": f'python -c "{_LOOK}"'}),
        ("write_file", {"path": "solution.py", "content": code}),
        ("bash", {"cmd": "python solution.py"}),
    )
    if done >= len(steps):
        return ChatReply("The workbook is changed.")
    return calling([(f"call-{done}", *steps[done])])


def _script(task: str, given: str, made: str, *, clumsy: bool) -> str:
    named = re.search(r"sheet `(.+?)`", task)
    put = 'f"about {value}"' if clumsy else "value"
    sheet = named[1] if named else ""
    text = _START.format(given=given, sheet=sheet, put=put)
    for pattern, code in _KINDS:
        if found := re.search(pattern, task):
            return text + code.format(*found.groups()) + _END.format(made=made)
    return text + _END.format(made=made)
