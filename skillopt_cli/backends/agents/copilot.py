"""GitHub's Copilot CLI, as an agent with tools, and as a model that answers chat requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from skillopt_cli.backends.agents.agent_settings import CopilotChatConfig, CopilotExecConfig
from skillopt_cli.backends.agents.cli_chat import CliChat
from skillopt_cli.backends.agents.program import (
    AGENT_OFFERS,
    Program,
    ProgramResult,
    Workspace,
    json_lines,
    result_of,
    skill_text,
    task_text,
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
from skillopt_cli.core.events import Role
from skillopt_cli.core.task import Brief, Message
from skillopt_cli.ports import BackendSpec, Finished, ProgramSource, RoleSettings

KEYS = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
PROGRAM = ProgramSource(
    "model.copilot_exec.path",
    ("COPILOT_EXEC_PATH",),
    "copilot",
    lambda: None,
    "run `npm install -g @github/copilot`, or have `copilot` on PATH",
)
Tools = Literal["none", "read-only", "workspace-write"]


@dataclass(frozen=True, kw_only=True)
class Copilot(Program):
    """The Copilot CLI, run once per attempt or question without a terminal.

    Attributes:
        effort: of reasoning; "" leaves it to the program.
        tools: none; those that need no permission, which read; or all.
        key: with which it signs in.
    """

    binary: Path
    effort: str
    tools: Tools
    key: str = field(repr=False)

    @property
    def settings(self) -> Mapping[str, object]:
        """See `Program`."""
        return {"model": self.model, "effort": self.effort, "tools": self.tools}

    @property
    def offers(self) -> frozenset[str]:
        """Without tools it can open no file."""
        return frozenset() if self.tools == "none" else AGENT_OFFERS

    def prompt(self, brief: Brief, workspace: Workspace) -> str:
        """See `Program`; without tools to read the skill's file, it contains the skill."""
        if self.tools == "none":
            return task_text(brief, workspace, skill_text(workspace))
        return super().prompt(brief, workspace)

    def argv(self, workspace: Workspace) -> list[str]:
        """Without a prompt among its arguments it reads standard input."""
        allowed = {
            "none": ("--available-tools=none",),
            "read-only": (),
            "workspace-write": ("--allow-all-tools",),
        }
        return [
            str(self.binary),
            *("--output-format", "json", "--stream", "off", "--no-color", "--log-level", "none"),
            # Otherwise it reads notes in all folders up to the root of a repository.
            "--no-custom-instructions",
            "--disable-builtin-mcps",
            f"--secret-env-vars={KEYS[0]}",
            *allowed["none" if workspace.asked else self.tools],
            *(("--model", self.model) if self.model else ()),
            *(("--reasoning-effort", self.effort) if self.effort else ()),
        ]

    def environment(self, workspace: Workspace) -> Mapping[str, str]:
        """See `Program`."""
        return {
            KEYS[0]: self.key,
            "COPILOT_HOME": str(workspace.own),
            "COPILOT_AUTO_UPDATE": "false",
        }

    def parse(self, finished: Finished) -> ProgramResult:
        """Parse its events; the last message with any text is its answer."""
        answer, failure = "", ""
        messages: list[Message] = []
        calls: dict[str, ToolCall] = {}
        for event in json_lines(finished.stdout):
            match event:
                case {"type": "assistant.message", "data": {"content": str(text)}} if text.strip():
                    answer = text
                    messages.append(Message("assistant", text))
                case {"type": "tool.execution_start", "data": {"toolCallId": str(name), **data}}:
                    calls[name] = _call(name, data)
                case {"type": "tool.execution_complete", "data": {"toolCallId": str(name), **data}}:
                    messages += _result(calls.get(name) or _call(name, data), data)
                case {"type": "session.error", "data": {"message": str(text)}}:
                    failure = text
        failure = failure if finished.returncode else ""
        return result_of(finished, "copilot", tuple(messages), answer, failure)


def _call(name: str, data: Mapping[Any, Any]) -> ToolCall:
    arguments = json.dumps(data.get("arguments"), ensure_ascii=False)
    return ToolCall(name, str(data.get("toolName") or "tool"), arguments)


def _result(call: ToolCall, data: Mapping[Any, Any]) -> Iterator[Message]:
    result = data.get("result") or data.get("error") or {}
    text = result.get("content") or result.get("message") if isinstance(result, Mapping) else result
    code = (data.get("shellExecution") or {}).get("exitCode")
    failed = not data.get("success") or bool(code)
    yield from tool_messages(call, str(text or ""), failed=failed)


def copilot(role: RoleSettings, backend: str) -> Copilot:
    """Return the program of a role, for one of the two backends.

    Raises:
        BackendUnusable: it is not installed, cannot be run, or has no key.
    """
    tools: Tools = "none"
    options: CopilotChatConfig | CopilotExecConfig = CopilotChatConfig.of(role.options)
    if backend == "copilot_exec":
        options = CopilotExecConfig.of(role.options)
        tools = options.sandbox
    key = key_of(role)
    source = replace(PROGRAM, setting=f"model.{backend}.path")
    binary, version = locate(source, options.path, role.environment)
    return Copilot(
        name=backend,
        binary=binary,
        version=version,
        model="" if role.model == backend else role.model,
        effort=role.reasoning_effort,
        tools=tools,
        key=key,
        limit=options.timeout,
    )


def _spec(
    name: str, summary: str, roles: tuple[Role, ...], offers: frozenset[str] = frozenset()
) -> BackendSpec:
    spec = BackendSpec(
        name=name,
        summary=summary,
        roles=frozenset(roles),
        offers=offers,
        requires=f"the program copilot, and {KEYS[0]}",
        missing=missing_part(PROGRAM, KEYS),
        needs=(key_needed(KEYS[0]),),
        ignores=UNUSED,
        variables={"api_key_env": KEYS},
    )
    return with_own_model(spec, partial(copilot, backend=name))


EXEC = replace(
    _spec(
        "copilot_exec",
        "GitHub's Copilot CLI, with Copilot's own models, as the agent whose skill is trained",
        ("target",),
        AGENT_OFFERS,
    ),
    options=CopilotExecConfig,
    program=PROGRAM,
    loads_skills=True,
)
CHAT = replace(
    _spec(
        "copilot_chat",
        "Copilot's own models, asked through GitHub's Copilot CLI without any tool",
        ("optimizer", "target"),
    ),
    options=CopilotChatConfig,
    program=replace(PROGRAM, setting="model.copilot_chat.path"),
    program_chat=lambda inner, role, executor: CliChat(
        inner, copilot(role, "copilot_chat"), executor
    ),
)
