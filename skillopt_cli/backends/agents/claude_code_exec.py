"""Anthropic's Claude Code CLI as an agent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from skillopt_cli.backends.agents.binaries import Sought, find, fingerprint, version_of
from skillopt_cli.backends.agents.claude_trace import told
from skillopt_cli.backends.agents.cli_agent import CliAgent
from skillopt_cli.backends.agents.cli_chat import ASKED_OFFERS, CliChat
from skillopt_cli.backends.agents.program import Layout, Told, task_text
from skillopt_cli.backends.agents.skill_files import place
from skillopt_cli.backends.agents.upstream import Upstream, open_upstream
from skillopt_cli.backends.agents.wire import MESSAGES, AgentForm
from skillopt_cli.config.agent_sections import ClaudeCodeExecConfig
from skillopt_cli.core.errors import BackendUnusable
from skillopt_cli.core.task import Brief
from skillopt_cli.ports import (
    MODEL_NAMED,
    BackendSpec,
    ChatBackend,
    Executor,
    Finished,
    Need,
    RoleSettings,
)

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
"""Without these it looks up hosts beyond its model, and repeats requests that we repeat already."""


def _bundled() -> Path | None:
    spec = find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "_bundled" / "claude"
    return path if path.exists() else None


SOUGHT = Sought(
    "model.claude_code_exec.path",
    ("CLAUDE_CODE_EXEC_PATH",),
    "claude",
    _bundled,
    'run `pip install "skillopt-cli[claude-bin]"`, or install Claude Code and have it on PATH',
)


@dataclass(frozen=True, slots=True)
class ClaudeCodeExec:
    """The Claude Code CLI, to be run once per attempt without a terminal.

    Attributes:
        sandbox: read-only or workspace-write, which decides the tools it may use.
        effort: of reasoning; "" leaves it to the program.
        turns: how many it may take; it counts them itself.
        max_tokens: the longest answer of its model.
    """

    binary: Path
    version: str
    model: str
    effort: str
    sandbox: str
    turns: int
    max_tokens: int
    limit: float
    name: str = NAME
    max_turns: int = 0

    @property
    def fingerprint(self) -> str:
        """See `Program`."""
        counting = {
            "sandbox": self.sandbox,
            "max_turns": self.turns,
            "effort": self.effort,
            "max_tokens": self.max_tokens,
        }
        return fingerprint(NAME, self.version, counting)

    @property
    def form(self) -> AgentForm:
        """See `Program`."""
        return MESSAGES

    def prompt(self, brief: Brief, layout: Layout) -> str:
        """Names the skill, which the model then loads by its tool for that.

        It always opens with words: a slash at the start would be read as a command.
        """
        opening = "Do this task."
        if layout.skill is not None:
            opening = f"First load the skill `{layout.skill.name}`, then do the task as it says."
        return task_text(brief, layout, opening)

    def lay_out(self, layout: Layout) -> None:
        """See `Program`."""
        if layout.skill is not None:
            place(layout.skill, layout.work / ".claude" / "skills")
        settings = {"claudeMdExcludes": list(_notes_above(layout.work))}
        _settings_file(layout).write_text(json.dumps(settings), encoding="utf-8")

    def argv(self, layout: Layout) -> list[str]:
        """See `Program`."""
        tools = ",".join(_READING if self.sandbox == "read-only" else (*_READING, *_WRITING))
        allowed = ("--tools", "") if layout.asked else ("--tools", tools, "--allowedTools", tools)
        schema = layout.schema
        return [
            str(self.binary),
            "-p",
            *("--output-format", "stream-json", "--verbose"),
            *("--model", self.model),
            *("--max-turns", str(self.turns)),
            *(("--effort", self.effort) if self.effort else ()),
            *("--setting-sources", "project"),
            *("--settings", str(_settings_file(layout))),
            "--strict-mcp-config",
            "--no-session-persistence",
            *(("--json-schema", json.dumps(schema)) if schema is not None else ()),
            *allowed,
        ]

    def environment(self, layout: Layout) -> Mapping[str, str]:
        """See `Program`."""
        return {
            **_QUIET,
            "CLAUDE_CONFIG_DIR": str(layout.own),
            "CLAUDE_CODE_TMPDIR": str(layout.temporary),
            "ANTHROPIC_API_KEY": layout.token,
            "ANTHROPIC_BASE_URL": layout.url,
            # Also for small jobs of its own, so that one price and one cap hold for all.
            "ANTHROPIC_SMALL_FAST_MODEL": self.model,
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": self.model,
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(self.max_tokens),
            # The relay answers when it has all of an answer, however often that was tried.
            "API_TIMEOUT_MS": str(int(self.limit * 1000)),
        }

    def told(self, finished: Finished) -> Told:
        """See `Program`."""
        return told(finished)


_NOTES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude/CLAUDE.md", ".claude/rules/**")
"""Where it looks for notes in all folders above its own, repository or not."""


def _notes_above(work: Path) -> Iterator[str]:
    for folder in work.parents:
        yield from (str(folder / note) for note in _NOTES)


def _settings_file(layout: Layout) -> Path:
    return layout.own / "skillopt.json"


def claude_code_exec(role: RoleSettings) -> ClaudeCodeExec:
    """The program of a role.

    Raises:
        BackendUnusable: it is not installed, or cannot be run.
    """
    options = ClaudeCodeExecConfig.of(role.options)
    binary = find(SOUGHT, options.path, role.environment)
    return ClaudeCodeExec(
        binary=binary,
        version=version_of(binary, role.environment),
        model=role.model,
        effort=role.reasoning_effort,
        sandbox=options.sandbox or "workspace-write",
        turns=options.max_turns,
        max_tokens=role.max_completion_tokens,
        limit=options.timeout,
    )


def open_claude_code(role: RoleSettings) -> Upstream:
    """The model behind the program. An empty base URL means Anthropic's own; it may end in /v1.

    Raises:
        ConfigError: the base URL is not an http or https address.
        BackendUnusable: no model is named, or the key cannot be sent.
    """
    return open_upstream(role, MESSAGES, ANTHROPIC_URL)


def agent(chat: ChatBackend, role: RoleSettings) -> CliAgent:
    """The agent of a role; raises as `claude_code_exec`."""
    return CliAgent(chat, claude_code_exec(role))


def chat(inner: ChatBackend, role: RoleSettings, executor: Executor) -> CliChat:
    """The program as one that is asked; raises as `claude_code_exec`."""
    return CliChat(inner, claude_code_exec(role), executor, ASKED_OFFERS)


def missing(environment: Mapping[str, str]) -> str:
    """What is absent on this machine; "" when ready."""
    try:
        find(SOUGHT, "", environment)
    except BackendUnusable as error:
        return error.message
    return (
        "" if "api_key_env" in SPEC.said("target", environment) else "ANTHROPIC_API_KEY is not set"
    )


SPEC = BackendSpec(
    name=NAME,
    summary="Anthropic's Claude Code CLI, as the agent whose skill is trained or as the optimizer",
    roles=frozenset(("optimizer", "target")),
    open=open_claude_code,
    agent=agent,
    program_chat=chat,
    offers=CliAgent.offers,
    runs_programs=True,
    prices="anthropic",
    # The program has no setting for it.
    ignores=frozenset({"temperature"}),
    requires="the program claude, and ANTHROPIC_API_KEY",
    missing=missing,
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
        "api_key_env": ("{ROLE}_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
        "name": ("{ROLE}_ANTHROPIC_MODEL",),
        "reasoning_effort": ("CLAUDE_CODE_EXEC_EFFORT",),
    },
    extra="claude-bin",
)
