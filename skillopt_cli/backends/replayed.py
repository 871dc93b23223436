"""A model that is not there: what it would say is known from a recording, or is an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt_cli.core.errors import BackendError, NotRecorded
from skillopt_cli.core.events import Role
from skillopt_cli.core.task import ChatReply, ChatRequest

Outcome = BackendError | ChatReply


@dataclass(frozen=True, slots=True)
class Script:
    """What is left to be said once the journal was filled from a recording.

    Attributes:
        source: the recording, for people.
        outcomes: of calls that failed before they were answered, if they were, by journal key.
        hint: why a call may be missing.
    """

    source: str
    outcomes: Mapping[str, list[Outcome]] = field(default_factory=dict)
    hint: str = ""


class Replayed:
    """A `ChatBackend` to be put behind the filled journal; it opens nothing and calls nobody."""

    def __init__(
        self, role: Role, name: str, fingerprint: str, offers: frozenset[str], script: Script
    ) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.offers = offers
        self._role = role
        self._script = script

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The next recorded outcome of a call that also failed.

        Raises:
            BackendError: the recorded failure.
            NotRecorded: the recording does not hold this call.
        """
        outcomes = self._script.outcomes.get(request.key(self.fingerprint))
        if not outcomes:
            raise NotRecorded(
                f"the {self._role} was asked something in stage `{request.stage}` that"
                f" {self._script.source} does not hold",
                self._script.hint,
            )
        # The last one stays: a request that kept failing would fail again.
        outcome = outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]
        if isinstance(outcome, BackendError):
            raise outcome
        return outcome
