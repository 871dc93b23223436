"""Cursor's CLI as an agent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillopt_cli.backends.agents.agent_settings import CursorExecConfig
from skillopt_cli.backends.agents.program import (
    AGENT_OFFERS,
    Program,
    ProgramResult,
    Workspace,
    broken,
    json_lines,
    last_line,
    result_of,
    tool_messages,
)
from skillopt_cli.backends.agents.program_backend import (
    UNUSED,
    key_needed,
    key_of,
    locate,
    missing_part,
    with_own_model,
)
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.task import Message
from skillopt_cli.ports import BackendSpec, Finished, ProgramSource, RoleSettings

NAME = "cursor_exec"
KEY = "CURSOR_API_KEY"
PROGRAM = ProgramSource(
    "model.cursor_exec.path",
    ("CURSOR_EXEC_PATH",),
    "cursor-agent",
    lambda: None,
    "install Cursor's CLI and have `cursor-agent` on PATH",
)


@dataclass(frozen=True, kw_only=True)
class CursorExec(Program):
    """Cursor's CLI, run once per attempt without a terminal.

    Attributes:
        sandbox: read-only asks for its mode without edits, workspace-write allows what its own
            sandbox allows. That sandbox is always on.
        key: with which it signs in.
    """

    binary: Path
    sandbox: str
    key: str = field(repr=False)

    @property
    def settings(self) -> Mapping[str, object]:
        """See `Program`."""
        return {"model": self.model, "sandbox": self.sandbox}

    def argv(self, workspace: Workspace) -> list[str]:
        """See `Program`."""
        return [
            str(self.binary),
            "-p",
            *("--output-format", "stream-json"),
            "--trust",
            *("--workspace", str(workspace.work)),
            *("--sandbox", "enabled"),
            *(("--mode", "ask") if self.sandbox == "read-only" else ("--force",)),
            *(("--model", self.model) if self.model else ()),
        ]

    def environment(self, workspace: Workspace) -> Mapping[str, str]:
        """See `Program`."""
        return {KEY: self.key}

    def parse(self, finished: Finished) -> ProgramResult:
        """Parse its events; the result event at the end holds the answer."""
        result: Mapping[str, Any] | None = None
        messages: list[Message] = []
        for event in json_lines(finished.stdout):
            if event.get("type") == "result":
                result = event
            messages += _messages(event)
        failure = last_line(finished) if result is None else ""
        answer = result.get("result") if result else ""
        wrong = result and (result.get("is_error") or result.get("subtype") != "success")
        if wrong and not finished.returncode:
            why = f"cursor-agent failed: {answer or 'it said nothing'}"
            return broken(why, tuple(messages))
        text = answer if isinstance(answer, str) else ""
        return result_of(finished, "cursor-agent", tuple(messages), text, failure)


def _messages(event: Mapping[str, Any]) -> Iterator[Message]:
    match event:
        case {"type": "assistant", "message": {"content": [*parts]}}:
            text = "".join(str(part.get("text") or "") for part in parts)
            if text:
                yield Message("assistant", text)
        case {"type": "tool_call", "subtype": "completed", "tool_call": {**calls}}:
            for name, made in calls.items():
                if isinstance(made, Mapping) and "result" in made:
                    result = made["result"]
                    failed = isinstance(result, Mapping) and "success" not in result
                    arguments = json.dumps(made.get("args"), ensure_ascii=False)
                    call = ToolCall(str(event.get("call_id") or ""), str(name), arguments)
                    text = json.dumps(result, ensure_ascii=False)
                    yield from tool_messages(call, text, failed=failed)


def cursor_exec(role: RoleSettings) -> CursorExec:
    """Return the program of a role.

    Raises:
        BackendUnusable: it is not installed, cannot be run, or has no key.
    """
    options = CursorExecConfig.of(role.options)
    key = key_of(role)
    binary, version = locate(PROGRAM, options.path, role.environment)
    return CursorExec(
        name=NAME,
        binary=binary,
        version=version,
        model="" if role.model == NAME else role.model,
        sandbox=options.sandbox,
        key=key,
        limit=options.timeout,
    )


SPEC = with_own_model(
    BackendSpec(
        name=NAME,
        loads_skills=True,
        summary="Cursor's CLI, with Cursor's own models, as the agent whose skill is trained",
        options=CursorExecConfig,
        program=PROGRAM,
        roles=frozenset({"target"}),
        offers=AGENT_OFFERS,
        requires=f"the program cursor-agent, and {KEY}",
        missing=missing_part(PROGRAM, (KEY,)),
        needs=(key_needed(KEY),),
        ignores=UNUSED | {"reasoning_effort"},
        variables={"api_key_env": (KEY,)},
    ),
    cursor_exec,
)
