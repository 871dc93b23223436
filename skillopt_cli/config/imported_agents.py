"""The published system's keys about agents that are programs, in ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

AGENTS = ("codex_", "claude_code_", "cursor_", "copilot_", "sandbox")
"""With what such keys begin."""

TARGETS_ONLY = ("codex_exec", "claude_code_exec")
"""Backends that play no optimizer here."""
_PATHS = {
    "codex_exec": ("codex_exec_path", "codex_path", "codex_cli_bin", "codex_bin"),
    "claude_code_exec": ("claude_code_exec_path",),
}
_SANDBOX = ("codex_exec_sandbox", "codex_sandbox", "sandbox")
_EFFORT = {
    "codex_exec": "codex_exec_reasoning_effort",
    "claude_code_exec": "claude_code_exec_effort",
}
_COMMANDS = ("codex", "claude")
"""What is found without being named."""
_WITHOUT = "danger-full-access"
_CARRIED = {name for names in (*_PATHS.values(), _SANDBOX, _EFFORT.values()) for name in names}


def import_agent(said: Mapping[str, Any], backend: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The section `model.<backend>` and the target's settings, for the backend that plays it.

    Args:
        said: values by flat key.
        backend: the target's.
    """
    if backend not in _PATHS:
        return {}, {}
    section: dict[str, Any] = {}
    path = _first(said, _PATHS[backend])
    if path and path not in _COMMANDS:
        section["path"] = path
    sandbox = _first(said, _SANDBOX) if backend == "codex_exec" else ""
    if sandbox and sandbox != _WITHOUT:
        section["sandbox"] = sandbox
    effort = _first(said, (_EFFORT[backend],))
    return section, {"reasoning_effort": effort} if effort not in ("", "none") else {}


def agent_reason(name: str, value: Any, backend: str) -> str:
    """Why a key about agents was left behind; empty where it was not.

    Args:
        backend: the target's.
    """
    if name.startswith("codex_trace_"):
        return "" if value else "the optimizer always reads a short form of what an agent did"
    owner = next((agent for agent in _PATHS if name.startswith(agent.removesuffix("exec"))), "")
    if name == "sandbox":
        owner = "codex_exec"
    if not owner:
        return "there is no such agent here; the backend `command` runs any program"
    if owner != backend:
        return f"the target is not played by {owner}"
    if name in _SANDBOX and value == _WITHOUT:
        return "no attempt is made without a sandbox"
    return "" if name in _CARRIED else "an attempt reads no configuration but its own"


def _first(said: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((str(said[name]).strip() for name in names if said.get(name)), "")
