"""Cursor's CLI as an agent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from skillopt_cli.backends.agents.binaries import Sought, find, fingerprint, version_of
from skillopt_cli.backends.agents.cli_agent import CliAgent
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
)
from skillopt_cli.backends.agents.skill_files import place
from skillopt_cli.config.agent_sections import CursorExecConfig
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.task import Brief, Message
from skillopt_cli.ports import BackendSpec, ChatBackend, Finished, RoleSettings

NAME = "cursor_exec"
KEY = "CURSOR_API_KEY"
SOUGHT = Sought(
    "model.cursor_exec.path",
    ("CURSOR_EXEC_PATH",),
    "cursor-agent",
    lambda: None,
    "install Cursor's CLI and have `cursor-agent` on PATH",
)


@dataclass(frozen=True, slots=True)
class CursorExec:
    """Cursor's CLI, to be run once per attempt without a terminal.

    Attributes:
        model: "" leaves the choice to Cursor.
        sandbox: read-only asks for its mode without edits, workspace-write lets it do what its own
            sandbox allows. That sandbox is always on.
        key: with which it signs in.
    """

    binary: Path
    version: str
    model: str
    sandbox: str
    key: str = field(repr=False)
    limit: float
    name: str = NAME
    form: None = None
    max_turns: int = 0

    @property
    def fingerprint(self) -> str:
        """See `Program`."""
        counting = {"model": self.model, "sandbox": self.sandbox}
        return fingerprint(NAME, self.version, counting)

    def prompt(self, brief: Brief, layout: Layout) -> str:
        """Says where the skill is."""
        return task_text(brief, layout, look(layout))

    def lay_out(self, layout: Layout) -> None:
        """See `Program`."""
        if layout.skill is not None:
            place(layout.skill, layout.work / SKILLS)

    def argv(self, layout: Layout) -> list[str]:
        """See `Program`."""
        return [
            str(self.binary),
            "-p",
            *("--output-format", "stream-json"),
            "--trust",
            *("--workspace", str(layout.work)),
            *("--sandbox", "enabled"),
            *(("--mode", "ask") if self.sandbox == "read-only" else ("--force",)),
            *(("--model", self.model) if self.model else ()),
        ]

    def environment(self, layout: Layout) -> Mapping[str, str]:
        """See `Program`."""
        return {KEY: self.key}

    def told(self, finished: Finished) -> Told:
        """What its events say; the result at the end is its answer, unless it says otherwise."""
        result: Mapping[str, Any] | None = None
        messages: list[Message] = []
        for event in json_lines(finished.stdout):
            if event.get("type") == "result":
                result = event
            messages += _messages(event)
        said = tuple(messages)
        if finished.returncode or result is None:
            why = f"cursor-agent ended with code {finished.returncode}: {last_words(finished)}"
            return broken(why, messages=said)
        answer = result.get("result")
        if result.get("is_error") or result.get("subtype") != "success":
            return broken(f"cursor-agent failed: {answer or 'it said nothing'}", messages=said)
        if not isinstance(answer, str) or not answer.strip():
            return broken("cursor-agent ended without an answer", messages=said)
        return Told(answer, said)


def _messages(event: Mapping[str, Any]) -> Iterator[Message]:
    match event:
        case {"type": "assistant", "message": {"content": [*parts]}}:
            text = "".join(str(part.get("text") or "") for part in parts)
            if text:
                yield Message("assistant", text)
        case {"type": "tool_call", "subtype": "completed", "tool_call": {**call}}:
            for name, made in call.items():
                if isinstance(made, Mapping) and "result" in made:
                    result = made["result"]
                    failed = isinstance(result, Mapping) and "success" not in result
                    arguments = json.dumps(made.get("args"), ensure_ascii=False)
                    wish = ToolCall(str(event.get("call_id") or ""), str(name), arguments)
                    yield from step(wish, json.dumps(result, ensure_ascii=False), failed=failed)


def cursor_exec(role: RoleSettings) -> CursorExec:
    """The program of a role.

    Raises:
        BackendUnusable: it is not installed, cannot be run, or has no key.
    """
    options = CursorExecConfig.of(role.options)
    key = key_of(role)
    binary = find(SOUGHT, options.path, role.environment)
    return CursorExec(
        binary=binary,
        version=version_of(binary, role.environment),
        model="" if role.model == NAME else role.model,
        sandbox=options.sandbox,
        key=key,
        limit=options.timeout,
    )


def open_cursor(role: RoleSettings) -> OwnModel:
    """What stands for the program's own model; raises as `cursor_exec`."""
    cursor_exec(role)
    return OwnModel(role.model, NAME)


def agent(chat: ChatBackend, role: RoleSettings) -> CliAgent:
    """The agent of a role; raises as `cursor_exec`."""
    return CliAgent(chat, cursor_exec(role))


SPEC = BackendSpec(
    name=NAME,
    summary="Cursor's CLI, with Cursor's own models, as the agent whose skill is trained",
    roles=frozenset({"target"}),
    open=open_cursor,
    agent=agent,
    offers=CliAgent.offers,
    runs_programs=True,
    networked=True,
    requires=f"the program cursor-agent, and {KEY}",
    missing=partial(lacking, SOUGHT, (KEY,)),
    needs=(key_needed(KEY),),
    ignores=IGNORED | {"reasoning_effort"},
    variables={"api_key_env": (KEY,)},
)
