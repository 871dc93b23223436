"""Anthropic's Claude Code CLI as an agent, and as a model that answers chat requests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from skillopt_cli.backends.agents.agent_settings import ClaudeCodeExecConfig
from skillopt_cli.backends.agents.model_api import MESSAGES
from skillopt_cli.backends.agents.program import (
    Program,
    ProgramResult,
    Workspace,
    broken,
    json_lines,
    last_line,
    result_of,
    task_text,
)
from skillopt_cli.backends.agents.program_backend import (
    locate,
    missing_part,
    with_relayed_model,
)
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.task import Brief, Message
from skillopt_cli.ports import MODEL_NAMED, BackendSpec, Finished, Need, ProgramSource, RoleSettings

NAME = "claude_code_exec"
ANTHROPIC_URL = "https://api.anthropic.com/v1"
_READING = ("Read", "Glob", "Grep", "Skill")
_WRITING = ("Edit", "Write", "Bash")
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",
}
"""Without these it contacts hosts other than its model, and adds retries to ours."""
_OUT_OF_TURNS = "error_max_turns"


def parse_output(finished: Finished) -> ProgramResult:
    """Return the result. Its `is_error` counts, since even then its subtype may be `success`."""
    result: Mapping[str, Any] | None = None
    found: list[Message] = []
    for event in json_lines(finished.stdout):
        message = event.get("message")
        match event.get("type"):
            case "assistant" | "user" if isinstance(message, Mapping):
                found += _messages(message.get("content"), own=event["type"] == "assistant")
            case "result":
                result = event
    messages = tuple(found)
    if result is None:
        return result_of(finished, "claude", messages, "", last_line(finished))
    if result.get("subtype") == _OUT_OF_TURNS:
        turns = result.get("num_turns")
        return ProgramResult("", messages, "gave_up", f"it used up its turns ({turns})")
    if result.get("is_error") or finished.returncode:
        status = result.get("api_error_status")
        what = f"HTTP {status}" if status else str(result.get("subtype"))
        return broken(f"claude failed ({what}): {_error_of(result)}", messages)
    structured = result.get("structured_output")
    answer = str(result.get("result") or "") if structured is None else json.dumps(structured)
    return result_of(finished, "claude", messages, answer if result.get("num_turns") else "")


def _error_of(result: Mapping[str, Any]) -> str:
    errors = result.get("errors")
    listed = "; ".join(map(str, errors)) if isinstance(errors, list) else ""
    return str(result.get("result") or listed or "it said nothing")


def _messages(content: object, *, own: bool) -> Iterator[Message]:
    """Yield the messages in the blocks of a turn.

    Args:
        own: whether the turn is the agent's; other texts are the program's own instructions.
    """
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, Mapping):
            continue
        name = str(block.get("id") or block.get("tool_use_id") or "")
        match block.get("type"):
            case "text" if own and block.get("text"):
                yield Message("assistant", str(block["text"]))
            case "tool_use":
                arguments = json.dumps(block.get("input"), ensure_ascii=False)
                call = ToolCall(name, str(block.get("name")), arguments)
                yield Message("assistant", "", tool_calls=(call,))
            case "tool_result":
                text = "\n".join(_texts(block.get("content")))
                failed = bool(block.get("is_error"))
                yield Message("tool", text, call_id=name, failed=failed)


def _texts(content: object) -> Iterable[str]:
    if isinstance(content, str):
        return (content,)
    parts = content if isinstance(content, list) else ()
    return (str(part["text"]) for part in parts if isinstance(part, Mapping) and "text" in part)


def _bundled() -> Path | None:
    spec = find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "_bundled" / "claude"
    return path if path.exists() else None


PROGRAM = ProgramSource(
    "model.claude_code_exec.path",
    ("CLAUDE_CODE_EXEC_PATH",),
    "claude",
    _bundled,
    'run `pip install "skillopt-cli[claude-bin]"`, or install Claude Code and have it on PATH',
)


@dataclass(frozen=True, kw_only=True)
class ClaudeCodeExec(Program):
    """The Claude Code CLI, run once per attempt or question without a terminal.

    Attributes:
        sandbox: read-only or workspace-write, which decides the tools it may use.
        effort: of reasoning; "" leaves it to the program.
        turns: maximum of turns, which the program counts itself.
        max_tokens: the longest answer of its model.
    """

    binary: Path
    effort: str
    sandbox: str
    turns: int
    max_tokens: int

    api = MESSAGES
    skills = ".claude/skills"
    chat_offers = frozenset({"json_schema"})

    @property
    def settings(self) -> Mapping[str, object]:
        """See `Program`."""
        return {
            "sandbox": self.sandbox,
            "max_turns": self.turns,
            "effort": self.effort,
            "max_tokens": self.max_tokens,
        }

    def prompt(self, brief: Brief, workspace: Workspace) -> str:
        """Return the task after the skill's name, which the model loads with its skill tool.

        It always opens with words, since an initial slash would be read as a command.
        """
        opening = "Do this task."
        if workspace.skill is not None:
            opening = f"First load the skill `{workspace.skill.name}`, then do the task as it says."
        return task_text(brief, workspace, opening)

    def prepare(self, workspace: Workspace) -> None:
        """See `Program`."""
        super().prepare(workspace)
        settings = {
            "claudeMdExcludes": [str(f / n) for f in workspace.work.parents for n in _NOTES]
        }
        _settings_file(workspace).write_text(json.dumps(settings), encoding="utf-8")

    def argv(self, workspace: Workspace) -> list[str]:
        """See `Program`."""
        tools = ",".join(_READING if self.sandbox == "read-only" else (*_READING, *_WRITING))
        allowed = (
            ("--tools", "") if workspace.asked else ("--tools", tools, "--allowedTools", tools)
        )
        schema = workspace.schema
        return [
            str(self.binary),
            "-p",
            *("--output-format", "stream-json", "--verbose"),
            *("--model", self.model),
            *("--max-turns", str(self.turns)),
            *(("--effort", self.effort) if self.effort else ()),
            *("--setting-sources", "project"),
            *("--settings", str(_settings_file(workspace))),
            "--strict-mcp-config",
            "--no-session-persistence",
            *(("--json-schema", json.dumps(schema)) if schema is not None else ()),
            *allowed,
        ]

    def environment(self, workspace: Workspace) -> Mapping[str, str]:
        """See `Program`."""
        return {
            **_QUIET,
            "CLAUDE_CONFIG_DIR": str(workspace.own),
            "CLAUDE_CODE_TMPDIR": str(workspace.temporary),
            "ANTHROPIC_API_KEY": workspace.token,
            "ANTHROPIC_BASE_URL": workspace.url,
            # Also for its own small jobs, so that one price and one cap apply to all requests.
            "ANTHROPIC_SMALL_FAST_MODEL": self.model,
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": self.model,
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(self.max_tokens),
            # The relay answers when an answer is complete, after all retries.
            "API_TIMEOUT_MS": str(int(self.limit * 1000)),
        }

    def parse(self, finished: Finished) -> ProgramResult:
        """See `Program`."""
        return parse_output(finished)


_NOTES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude/CLAUDE.md", ".claude/rules/**")
"""Notes it looks for in all folders above its own, repository or not."""


def _settings_file(workspace: Workspace) -> Path:
    return workspace.own / "skillopt.json"


def claude_code_exec(role: RoleSettings) -> ClaudeCodeExec:
    """Return the program of a role.

    Raises:
        BackendUnusable: it is not installed, or cannot be run.
    """
    options = ClaudeCodeExecConfig.of(role.options)
    binary, version = locate(PROGRAM, options.path, role.environment)
    return ClaudeCodeExec(
        name=NAME,
        binary=binary,
        version=version,
        model=role.model,
        effort=role.reasoning_effort,
        sandbox=options.sandbox or "workspace-write",
        turns=options.max_turns,
        max_tokens=role.max_completion_tokens,
        limit=options.timeout,
    )


_KEYS = ("{ROLE}_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY")

SPEC = with_relayed_model(
    BackendSpec(
        name=NAME,
        loads_skills=True,
        program=PROGRAM,
        summary="Anthropic's Claude Code CLI, as the agent whose skill is trained or as the"
        " optimizer",
        options=ClaudeCodeExecConfig,
        roles=frozenset(("optimizer", "target")),
        prices="anthropic",
        # The program has no setting for it.
        ignores=frozenset({"temperature"}),
        requires="the program claude, and ANTHROPIC_API_KEY",
        missing=missing_part(PROGRAM, _KEYS[::-1]),
        needs=(
            Need(
                ("base_url", "api_key_env"),
                "no key is given for the {role}",
                "set {ROLE}_ANTHROPIC_API_KEY or ANTHROPIC_API_KEY",
            ),
            MODEL_NAMED,
        ),
        variables={
            "base_url": ("{ROLE}_ANTHROPIC_BASE_URL", "ANTHROPIC_BASE_URL"),
            "api_key_env": _KEYS,
            "name": ("{ROLE}_ANTHROPIC_MODEL",),
            "reasoning_effort": ("CLAUDE_CODE_EXEC_EFFORT",),
        },
        extra="claude-bin",
    ),
    claude_code_exec,
    MESSAGES,
    ANTHROPIC_URL,
)
