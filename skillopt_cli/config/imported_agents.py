"""The published system's keys about agents that are programs, in ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillopt_cli.config.scalars import settle_written

AGENTS = ("codex_", "claude_code_", "cursor_", "copilot_", "sandbox")
"""With what such keys begin."""

TARGETS_ONLY = ("cursor_exec", "copilot_exec")
"""Backends that play no optimizer here."""
_PATHS = {
    "codex_exec": ("codex_exec_path", "codex_path", "codex_cli_bin", "codex_bin"),
    "claude_code_exec": ("claude_code_exec_path",),
    "cursor_exec": ("cursor_exec_path",),
    "copilot_exec": ("copilot_exec_path",),
    "copilot_chat": ("copilot_exec_path",),
}
_SANDBOX = ("codex_exec_sandbox", "codex_sandbox", "sandbox")
_ALL_TOOLS = "copilot_exec_allow_all_tools"
_CHAT_TIMEOUT = "copilot_chat_timeout"
_CHAT_MODELS = ("copilot_chat_optimizer_model", "copilot_chat_target_model")
_EFFORT = {
    "codex_exec": "codex_exec_reasoning_effort",
    "claude_code_exec": "claude_code_exec_effort",
}
_COMMANDS = ("codex", "claude", "cursor-agent", "copilot")
"""What is found without being named."""
_WITHOUT = ("danger-full-access", "disabled")
_SANDBOXES = (*_SANDBOX, "cursor_exec_sandbox")
_CARRIED = {
    *(name for names in (*_PATHS.values(), _SANDBOXES, _EFFORT.values()) for name in names),
    *(_ALL_TOOLS, _CHAT_TIMEOUT, *_CHAT_MODELS),
}


def import_agent(given: Mapping[str, Any], backend: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The section `model.<backend>` and the settings of the role that it plays.

    Args:
        given: values by flat key.
        backend: the role's.
    """
    if backend not in _PATHS:
        return {}, {}
    section: dict[str, Any] = {}
    path = _first(given, _PATHS[backend])
    if path and path not in _COMMANDS:
        section["path"] = path
    sandbox = _first(given, _SANDBOX) if backend == "codex_exec" else ""
    if sandbox and sandbox not in _WITHOUT:
        section["sandbox"] = sandbox
    if backend == "copilot_exec" and _ALL_TOOLS in given:
        section["sandbox"] = "workspace-write" if settle_written(given[_ALL_TOOLS]) else "read-only"
    if backend == "copilot_chat" and given.get(_CHAT_TIMEOUT):
        section["timeout"] = settle_written(given[_CHAT_TIMEOUT])
    effort = _first(given, (_EFFORT[backend],)) if backend in _EFFORT else ""
    return section, {"reasoning_effort": effort} if effort not in ("", "none") else {}


def agent_reason(name: str, value: Any, playing: Mapping[str, str]) -> str:
    """Why a key about agents was left behind; empty where it was not.

    Args:
        playing: the backend of each role.
    """
    if name.startswith("codex_trace_"):
        return "" if value else "the optimizer always reads a short form of what an agent did"
    owners = _owners(name)
    if name in _CHAT_MODELS:
        role = name.split("_")[2]
        return "" if playing[role] in owners else f"the {role} is not played by copilot_chat"
    if owners.isdisjoint(playing.values()):
        return f"no role is played by {' or '.join(sorted(owners))}"
    if name in _SANDBOXES:
        return "no attempt is made without a sandbox" if value in _WITHOUT else ""
    return "" if name in _CARRIED else "an attempt reads no configuration but its own"


def _owners(name: str) -> set[str]:
    """The backends that a key is about."""
    if name in _SANDBOX:
        return {"codex_exec"}
    found = {backend for backend, names in _PATHS.items() if name in names}
    return found or {agent for agent in _PATHS if name.startswith(agent.rpartition("_")[0])}


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((str(given[name]).strip() for name in names if given.get(name)), "")
