"""Configurable faults: a pure function of the request and the number of its tries."""

from __future__ import annotations

from collections import Counter

from skillopt_cli.backends.simulated.optimizer import CONTRACTS
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.backends.simulated.world import chance
from skillopt_cli.core.errors import AuthFailed, RateLimited, ServerFailed
from skillopt_cli.core.task import ChatRequest


class Faults:
    """Decides whether each try fails. Counts tries, so each backend has its own instance."""

    def __init__(self, config: SimulatedConfig) -> None:
        self._config = config
        self._tries: Counter[str] = Counter()
        self._cut: set[str] = set()
        self._hangs_left = config.hangs
        self._any = config.rate_limit_rate + config.server_error_rate + config.malformed_rate > 0

    def hangs(self) -> bool:
        """Whether this call hangs, as the first `hangs` ones do."""
        if self._hangs_left == 0:
            return False
        self._hangs_left -= 1
        return True

    def apply(self, request: ChatRequest) -> bool:
        """Raise the fault of this try, if any.

        Returns:
            Whether the answer is cut in the middle: only the optimizer's first answer to a request,
            and never in a conversation that holds an answer already.

        Raises:
            AuthFailed: every call fails.
            RateLimited: this try fails.
            ServerFailed: this try fails.
        """
        config = self._config
        if config.auth_failure:
            hint = "unset model.simulated.auth_failure"
            raise AuthFailed("the simulated server refused the key", hint)
        if not self._any:
            return False
        identity = request.identity
        tried = self._tries[identity]
        self._tries[identity] += 1
        draw = chance(config.seed, "fault", identity, tried)
        if draw < config.rate_limit_rate:
            raise RateLimited("the simulated server is rate limited")
        if draw < config.rate_limit_rate + config.server_error_rate:
            raise ServerFailed("the simulated server failed")
        if request.schema_name not in CONTRACTS or identity in self._cut:
            return False
        if any(message.role == "assistant" for message in request.messages):
            return False
        if chance(config.seed, "malformed", identity) >= config.malformed_rate:
            return False
        self._cut.add(identity)
        return True

    def apply_to_task(self, question: str) -> None:
        """Raise the permanent fault of a target request, if any.

        Raises:
            ServerFailed: the question is one of those that always fail.
        """
        config = self._config
        rate = config.permanent_failure_rate
        if rate and chance(config.seed, "permanent", question) < rate:
            raise ServerFailed("the simulated server fails on this task every time")
