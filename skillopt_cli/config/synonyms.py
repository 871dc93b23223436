"""Spellings of the published system, and of common use, for values that have one spelling here.

They are suggested, never accepted: a file or a variable says the same to everyone who reads it.
"""

from __future__ import annotations

from collections.abc import Mapping

_ON = dict.fromkeys(("1", "true", "yes", "on", "enable"), "enabled")
_OFF = dict.fromkeys(("0", "false", "no", "off", "disable"), "disabled")
_UNSAID = dict.fromkeys(("server-default", "unset", "auto", "none", "default"), "server_default")

BACKENDS: Mapping[str, str] = {
    "azure": "openai_chat",
    "azure-openai": "openai_chat",
    "azure_openai": "openai_chat",
    "openai": "openai_chat",
    "openai-compatible": "openai_compatible",
    "openai_compatible_chat": "openai_compatible",
    "compat": "openai_compatible",
    "claude": "claude_chat",
    "anthropic": "claude_chat",
    "qwen": "qwen_chat",
    "minimax": "minimax_chat",
}
SYNONYMS: Mapping[str, Mapping[str, str]] = {
    "auth_mode": {
        "key": "api_key",
        "aad": "managed_identity",
        "azure_ad": "managed_identity",
        "cli": "azure_cli",
        "compat": "openai_compatible",
        "openai": "openai_compatible",
    },
    "thinking": {**_ON, **_OFF, **_UNSAID, "adaptive": "enabled"},
    "temperature": dict.fromkeys(("none", "off", "false"), "server_default"),
    "region": {"global": "global_en", "en": "global_en", "cn": "cn_zh", "zh": "cn_zh"},
    "api": {"chat": "chat_completions", "response": "responses"},
    "backend": BACKENDS,
}
"""Another spelling to ours, by setting."""


def ours(setting: str, given: object) -> str | None:
    """How a value is spelt here, if it is a known other spelling of one."""
    return SYNONYMS.get(setting, {}).get(str(given).strip().lower())
