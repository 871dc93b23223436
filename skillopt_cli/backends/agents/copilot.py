"""GitHub's Copilot CLI, as an agent with tools and as a model that is only asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from skillopt_cli.backends.agents.binaries import Sought, find, fingerprint, version_of
from skillopt_cli.backends.agents.cli_agent import CliAgent
from skillopt_cli.backends.agents.cli_chat import CliChat
from skillopt_cli.backends.agents.codex_trace import json_lines
from skillopt_cli.backends.agents.own_model import IGNORED, OwnModel, key_needed, key_of, lacking
from skillopt_cli.backends.agents.program import (
    SKILLS,
    Layout,
    Told,
    broken,
    last_words,
    look,
    step,
    task_text,
    taught,
)
from skillopt_cli.backends.agents.skill_files import place
from skillopt_cli.config.agent_sections import CopilotChatConfig, CopilotExecConfig
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.task import Brief, Message
from skillopt_cli.ports import BackendSpec, ChatBackend, Executor, Finished, RoleSettings

KEYS = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
SOUGHT = Sought(
    "model.copilot_exec.path",
    ("COPILOT_EXEC_PATH",),
    "copilot",
    lambda: None,
    "run `npm install -g @github/copilot`, or have `copilot` on PATH",
)
Tools = Literal["none", "read-only", "workspace-write"]


@dataclass(frozen=True, slots=True)
class Copilot:
    """The Copilot CLI, to be run once per attempt or question without a terminal.

    Attributes:
        name: of the backend.
        model: "" leaves the choice to Copilot.
        effort: of reasoning; "" leaves it to the program.
        tools: none at all; those that need no permission, which read; or all.
        key: with which it signs in.
    """

    name: str
    binary: Path
    version: str
    model: str
    effort: str
    tools: Tools
    key: str = field(repr=False)
    limit: float
    form: None = None
    max_turns: int = 0

    @property
    def fingerprint(self) -> str:
        """See `Program`."""
        counting = {"model": self.model, "effort": self.effort, "tools": self.tools}
        return fingerprint(self.name, self.version, counting)

    def prompt(self, brief: Brief, layout: Layout) -> str:
        """Says where the skill is; without tools, which could read it there, it holds the skill."""
        opening = taught(layout) if self.tools == "none" else look(layout)
        return task_text(brief, layout, opening)

    def lay_out(self, layout: Layout) -> None:
        """See `Program`."""
        if layout.skill is not None:
            place(layout.skill, layout.work / SKILLS)

    def argv(self, layout: Layout) -> list[str]:
        """Without a prompt among its arguments it takes the one on standard input."""
        allowed = {
            "none": ("--available-tools=none",),
            "read-only": (),
            "workspace-write": ("--allow-all-tools",),
        }
        return [
            str(self.binary),
            *("--output-format", "json", "--stream", "off", "--no-color", "--log-level", "none"),
            # Those would be read from all folders up to the root of a repository.
            "--no-custom-instructions",
            "--disable-builtin-mcps",
            f"--secret-env-vars={KEYS[0]}",
            *allowed["none" if layout.asked else self.tools],
            *(("--model", self.model) if self.model else ()),
            *(("--reasoning-effort", self.effort) if self.effort else ()),
        ]

    def environment(self, layout: Layout) -> Mapping[str, str]:
        """See `Program`."""
        return {
            KEYS[0]: self.key,
            "COPILOT_HOME": str(layout.own),
            "COPILOT_AUTO_UPDATE": "false",
        }

    def told(self, finished: Finished) -> Told:
        """What its events say; the last message that says something is its answer."""
        answer, failure = "", ""
        messages: list[Message] = []
        calls: dict[str, ToolCall] = {}
        for event in json_lines(finished.stdout):
            match event:
                case {"type": "assistant.message", "data": {"content": str(text)}} if text.strip():
                    answer = text
                    messages.append(Message("assistant", text))
                case {"type": "tool.execution_start", "data": {"toolCallId": str(name), **data}}:
                    calls[name] = _wish(name, data)
                case {"type": "tool.execution_complete", "data": {"toolCallId": str(name), **data}}:
                    messages += _result(calls.get(name) or _wish(name, data), data)
                case {"type": "session.error", "data": {"message": str(text)}}:
                    failure = text
        said = tuple(messages)
        if finished.returncode:
            why = failure or last_words(finished)
            return broken(f"copilot ended with code {finished.returncode}: {why}", messages=said)
        if not answer:
            return broken("copilot ended without an answer", messages=said)
        return Told(answer, said)


def _wish(name: str, data: Mapping[Any, Any]) -> ToolCall:
    arguments = json.dumps(data.get("arguments"), ensure_ascii=False)
    return ToolCall(name, str(data.get("toolName") or "tool"), arguments)


def _result(wish: ToolCall, data: Mapping[Any, Any]) -> Iterator[Message]:
    told = data.get("result") or data.get("error") or {}
    text = told.get("content") or told.get("message") if isinstance(told, Mapping) else told
    code = (data.get("shellExecution") or {}).get("exitCode")
    yield from step(wish, str(text or ""), failed=not data.get("success") or bool(code))


def copilot(role: RoleSettings, backend: str) -> Copilot:
    """The program of a role, for one of the two backends.

    Raises:
        BackendUnusable: it is not installed, cannot be run, or has no key.
    """
    tools: Tools = "none"
    options: CopilotChatConfig | CopilotExecConfig = CopilotChatConfig.of(role.options)
    if backend == "copilot_exec":
        options = CopilotExecConfig.of(role.options)
        tools = options.sandbox
    key = key_of(role)
    binary = find(replace(SOUGHT, setting=f"model.{backend}.path"), options.path, role.environment)
    return Copilot(
        name=backend,
        binary=binary,
        version=version_of(binary, role.environment),
        model="" if role.model == backend else role.model,
        effort=role.reasoning_effort,
        tools=tools,
        key=key,
        limit=options.timeout,
    )


def _open(backend: str, role: RoleSettings) -> OwnModel:
    copilot(role, backend)
    return OwnModel(role.model, backend)


def _agent(backend: str, chat: ChatBackend, role: RoleSettings) -> CliAgent:
    program = copilot(role, backend)
    # Without tools it can open no file.
    return CliAgent(chat, program, CHAT.offers if program.tools == "none" else CliAgent.offers)


def _asked(backend: str, inner: ChatBackend, role: RoleSettings, executor: Executor) -> CliChat:
    return CliChat(inner, copilot(role, backend), executor)


EXEC = BackendSpec(
    name="copilot_exec",
    summary="GitHub's Copilot CLI, with Copilot's own models, as the agent whose skill is trained",
    roles=frozenset({"target"}),
    open=partial(_open, "copilot_exec"),
    agent=partial(_agent, "copilot_exec"),
    offers=CliAgent.offers,
    runs_programs=True,
    networked=True,
    requires=f"the program copilot, and {KEYS[0]}",
    missing=partial(lacking, SOUGHT, KEYS),
    needs=(key_needed(KEYS[0]),),
    ignores=IGNORED,
    variables={"api_key_env": KEYS},
)
CHAT = BackendSpec(
    name="copilot_chat",
    summary="Copilot's own models, asked through GitHub's Copilot CLI without any tool",
    roles=frozenset(("optimizer", "target")),
    open=partial(_open, "copilot_chat"),
    agent=partial(_agent, "copilot_chat"),
    program_chat=partial(_asked, "copilot_chat"),
    runs_programs=True,
    networked=True,
    requires=f"the program copilot, and {KEYS[0]}",
    missing=partial(lacking, SOUGHT, KEYS),
    needs=(key_needed(KEYS[0]),),
    ignores=IGNORED,
    variables={"api_key_env": KEYS},
)
