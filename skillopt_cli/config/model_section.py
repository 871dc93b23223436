"""The section `model`: which models play the roles, how each is reached, and what it costs."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from skillopt_cli.config.address import address_fault
from skillopt_cli.config.agent_sections import (
    ClaudeCodeExecConfig,
    CodexExecConfig,
    CommandConfig,
    CopilotChatConfig,
    CopilotExecConfig,
    CursorExecConfig,
)
from skillopt_cli.config.section import Section
from skillopt_cli.config.wording import clash

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_KEY_PARAMETER = re.compile(r"[?&][^=&]*(?:key|token|secret|password|sig)[^=&]*=", re.IGNORECASE)


class Endpoint(Section):
    """How to reach a model: shared values, which each role may override."""

    backend: str | None = None
    """Backend's name, see `skillopt backends list`."""
    base_url: str | None = None
    """Where the model's server listens, such as http://127.0.0.1:8000/v1."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the key; the key itself never stands here."""
    reasoning_effort: str | None = None
    """low, medium, high, xhigh or max; left out of requests when unset."""
    temperature: float | Literal["server_default"] | None = None
    """Sampling temperature, 0 to 2; left out of requests when unset. The backends `qwen_chat` and
    `minimax_chat` then send 0.7, and none with server_default."""
    max_completion_tokens: int | None = Field(None, ge=1)
    """Longest answer, in tokens (16384 when unset)."""
    timeout: float | None = Field(None, gt=0)
    """Seconds one call may take (120 when unset)."""
    api: Literal["auto", "chat_completions", "responses"] | None = None
    """Which of OpenAI's two interfaces is spoken; auto (unset) chooses by the model's name."""
    auth_mode: Literal["azure_cli", "api_key", "managed_identity", "openai_compatible"] | None = (
        None
    )
    """How `openai_chat` proves who it is (azure_cli when unset)."""
    api_version: str | None = None
    """Azure OpenAI's interface version (2024-12-01-preview when unset)."""
    ad_scope: str | None = None
    """What an Azure token is for (https://cognitiveservices.azure.com/.default when unset)."""
    managed_identity_client_id: str | None = None
    """Which of several managed identities to use."""
    thinking: Literal["server_default", "enabled", "disabled"] | None = None
    """Whether a model that can think first does so (true and false say it too); by default (unset)
    its server chooses."""
    region: Literal["global_en", "cn_zh"] | None = None
    """Which of MiniMax's two addresses is used (global_en when unset)."""

    @field_validator("api_key_env")
    @classmethod
    def _names_a_variable(cls, value: str | None) -> str | None:
        if value and (not _VARIABLE.match(value) or _random_looking(value)):
            raise ValueError("wanted is the name of an environment variable, not the key itself")
        return value

    @field_validator("temperature", mode="before")
    @classmethod
    def _is_a_temperature(cls, value: Any) -> Any:
        if value is None or value == "server_default":
            return value
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and 0 <= value <= 2):
            raise ValueError("must be a number from 0 to 2, or server_default")
        return value

    @field_validator("thinking", mode="before")
    @classmethod
    def _read_a_switch(cls, value: Any) -> Any:
        # Variables that switch thinking on and off hold truth values.
        return ("enabled" if value else "disabled") if isinstance(value, bool) else value

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value and ("@" in value.split("?")[0] or _KEY_PARAMETER.search(value)):
            raise ValueError("must not hold credentials; name their variable in api_key_env")
        if value and (fault := address_fault(value.strip())):
            raise ValueError(fault)
        return value and value.strip()


def _random_looking(name: str) -> bool:
    """Whether a part of a name is long and mixes cases or digits, as keys do and names do not."""
    return any(
        len(part) >= 16 and not (part.isalpha() and (part.isupper() or part.islower()))
        for part in name.split("_")
    )


class RoleConfig(Endpoint):
    """One role's model. A plain string is read as the name."""

    name: str | None = None
    """The model, as its server spells it."""


class RetryConfig(Section):
    """How failed calls are tried again. Only transient failures are."""

    max_attempts: int = Field(6, ge=1)
    """Tries per call, the first included; 1 turns retries off. A 429 uses up time only."""
    base_seconds: float = Field(1.0, ge=0)
    """First wait; doubles each time, with jitter. A server's Retry-After wins."""
    max_seconds: float = Field(30.0, ge=0)
    """Longest single wait the program chooses by itself."""
    total_seconds: float = Field(600.0, gt=0)
    """No further try of a call this long after its first failure."""


class SimulatedConfig(Section):
    """The simulated model (no network): a deterministic world with faults on request."""

    latency_ms: float = Field(0.0, ge=0)
    """Time each call takes."""
    noise: float = Field(0.0, ge=0, le=1)
    """Share of tasks the target gets wrong whatever the skill says."""
    lapse_rate: float = Field(0.0, ge=0, le=1)
    """Share of tasks where the target heeds a rule only if the skill's appendix re-states it."""
    right_rate: float = Field(0.6, ge=0, le=1)
    """Share of the optimizer's lessons that teach the rule a failing task needs."""
    harmful_rate: float = Field(0.2, ge=0, le=1)
    """Share of the optimizer's lessons that do harm; what is left over is of no use."""
    forget_rate: float = Field(0.0, ge=0, le=1)
    """Share of analyses that also propose to delete a rule the tasks they read do not need."""
    rate_limit_rate: float = Field(0.0, ge=0, le=1)
    """Share of calls answered with 429."""
    server_error_rate: float = Field(0.0, ge=0, le=1)
    """Share of calls answered with 500."""
    permanent_failure_rate: float = Field(0.0, ge=0, le=1)
    """Share of target requests that fail at every try."""
    hangs: int = Field(0, ge=0)
    """How many calls never answer."""
    malformed_rate: float = Field(0.0, ge=0, le=1)
    """Share of optimizer answers that are not valid JSON at the first try."""
    auth_failure: bool = False
    """Refuse every call as if the key were wrong."""
    seed: int = 0
    """Seed of the world and of its faults."""

    @model_validator(mode="after")
    def _shares_of_one_whole(self) -> SimulatedConfig:
        if self.right_rate + self.harmful_rate > 1:
            raise clash(
                f"`right_rate` of {self.right_rate:g} and `harmful_rate` of {self.harmful_rate:g}"
                " are more than 1 together",
                ("right_rate", "harmful_rate"),
                "lower one of the two",
            )
        return self


class LocalConfig(Section):
    """The in-process llama.cpp target."""

    model_path: str = ""
    """A GGUF file; empty takes the weights of the `local` extra."""
    parallel: int = Field(4, ge=1, le=64)
    """Sequences decoded together."""
    context: int = Field(2048, ge=256)
    """Context window per sequence, in tokens."""
    threads: int = Field(0, ge=0)
    """CPU threads; 0 takes all cores."""
    max_tokens: int = Field(48, ge=1)
    """Longest answer of the completion target, in tokens."""


class PriceConfig(Section):
    """What a model costs, in US dollars per million tokens; wins over the price table."""

    model: str
    """The model, as its server spells it."""
    input: float = Field(ge=0)
    """Tokens read."""
    output: float = Field(ge=0)
    """Tokens written, those of reasoning included."""
    cached_input: float | None = Field(None, ge=0)
    """Tokens read from the service's cache; as `input` when unset."""


class ModelConfig(Endpoint):
    """Which models play the roles. Values here are shared; a role's own value wins."""

    optimizer: RoleConfig = RoleConfig()
    """The model that reads trajectories and proposes edits."""
    target: RoleConfig = RoleConfig()
    """The frozen model whose skill is trained."""
    judge: RoleConfig = RoleConfig()
    """The model that judges answers, for benchmarks that need one; unset takes the optimizer."""
    retry: RetryConfig = RetryConfig()
    """Retries of failed calls."""
    prices: tuple[PriceConfig, ...] = ()
    """Prices of models that the price table lacks or gets wrong, one mapping each."""
    simulated: SimulatedConfig = SimulatedConfig()
    """Settings of the backend `simulated`."""
    local: LocalConfig = LocalConfig()
    """Settings of the backend `local`."""
    codex_exec: CodexExecConfig = CodexExecConfig()
    """Settings of the backend `codex_exec`."""
    claude_code_exec: ClaudeCodeExecConfig = ClaudeCodeExecConfig()
    """Settings of the backend `claude_code_exec`."""
    command: CommandConfig = CommandConfig()
    """Settings of the backend `command`."""
    cursor_exec: CursorExecConfig = CursorExecConfig()
    """Settings of the backend `cursor_exec`."""
    copilot_exec: CopilotExecConfig = CopilotExecConfig()
    """Settings of the backend `copilot_exec`."""
    copilot_chat: CopilotChatConfig = CopilotChatConfig()
    """Settings of the backend `copilot_chat`."""

    @field_validator("optimizer", "target", "judge", mode="before")
    @classmethod
    def _read_a_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value
