"""The error tree. Each leaf has an exit code, a message, and a hint at what to do.

SkillOptError                       1   our bug, when raised bare
├── UsageError                      2   the command line
│   ├── ConfigError                 2   a key or value of the configuration
│   ├── RunLocked                   2   another process writes the run folder
│   ├── NotTrusted                  2   a file asks for a program or a key without consent
│   ├── NotRunning                  2   no process is at work in the run folder
│   └── DriftRefused                2   a resume under changed conditions
├── DataError                       3   tasks, splits, skills
│   └── Undetermined                3   tasks leave a setting open that only their user knows
├── BackendError                    4   a model service
│   ├── FatalBackendError           4   no call can succeed: the run stops, resumable
│   │   ├── AuthFailed              4
│   │   ├── UnknownModel            4
│   │   ├── QuotaExhausted          4
│   │   ├── BackendUnusable         4   missing package, endpoint or key
│   │   ├── OptimizerUnusable       4   an epoch without one usable optimizer answer
│   │   ├── ServiceDown             4   a model service that answers nothing any more
│   │   └── NotRecorded             4   a replay asked something its recording does not hold
│   ├── TransientError              4   worth another try; an attempt is broken when tries run out
│   │   ├── RateLimited             4
│   │   ├── ServerFailed            4
│   │   ├── NetworkFailed           4
│   │   └── CallTimedOut            4
│   └── RequestRefused              4   this request can never succeed, others may
├── EpisodeFailed                   1   a task's surroundings, as a scorer: makes the attempt broken
├── BudgetExhausted                 5   a cap was reached; resumable with a higher one
├── Indecisive                      6   too few scored attempts to decide anything
├── NoImprovement                  10   only with --require-improvement
├── TrackerFailed                   1   never ends a run, which goes on without the tracker
└── Interrupted                   130   Ctrl-C; resumable
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt_cli.core.task import Usage


class SkillOptError(Exception):
    """Base of every error a user may see.

    Args:
        message: one sentence without a final full stop; names the file, key or value.
        hint: what to do about it; empty when there is nothing to suggest.
    """

    exit_code = 1
    prefix = "error: "
    """Start of the line that is printed of it; empty where what ended a command is no fault."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SkillOptError):
    """The command line asks for something that does not exist or does not fit together."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration key is unknown, or a value is out of its range."""


class RunLocked(UsageError):
    """Another process holds the run folder."""


class NotTrusted(UsageError):
    """A file asks for something to which the user has not agreed."""


class NotRunning(UsageError):
    """No process is at work in the run folder to receive a command."""


class DriftRefused(UsageError):
    """A resume would continue under conditions that can alter a text or a score."""


class DataError(SkillOptError):
    """Task files, splits or skill files are missing or malformed."""

    exit_code = 3


class Undetermined(DataError):
    """Tasks have more than one reading, and a setting has to say which.

    Args:
        key: the setting, dotted.
        readings: values it may have, the likeliest first; empty where it may be anything.
    """

    def __init__(
        self, message: str, hint: str = "", *, key: str, readings: Sequence[str] = ()
    ) -> None:
        super().__init__(message, hint)
        self.key = key
        self.readings = tuple(readings)


class BackendError(SkillOptError):
    """A model service did not do what was asked.

    Args:
        usage: what the call cost all the same, where the service reported it.
    """

    exit_code = 4

    def __init__(self, message: str, hint: str = "", *, usage: Usage | None = None) -> None:
        super().__init__(message, hint)
        self.usage = usage


class FatalBackendError(BackendError):
    """No call to this service can succeed; the run stops at once and can be resumed."""


class AuthFailed(FatalBackendError):
    """The service refused the credentials."""


class UnknownModel(FatalBackendError):
    """The service does not know the model."""


class QuotaExhausted(FatalBackendError):
    """The account's quota is used up, and waiting does not help."""


class BackendUnusable(FatalBackendError):
    """A package, endpoint or key the backend needs is missing."""


class OptimizerUnusable(FatalBackendError):
    """A whole epoch passed without one usable optimizer answer."""


class ServiceDown(FatalBackendError):
    """A model service left all attempts of a stage unanswered."""


class NotRecorded(FatalBackendError):
    """A replay asked something that its recording does not hold."""


class TransientError(BackendError):
    """A failure that another try may overcome.

    Args:
        retry_after: seconds the service asked us to wait, where it gave a time.
    """

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        usage: Usage | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, hint, usage=usage)
        self.retry_after = retry_after


class RateLimited(TransientError):
    """Too many requests for now (HTTP 429, 529)."""


class ServerFailed(TransientError):
    """The service failed (HTTP 5xx) or answered something that is not an answer."""


class NetworkFailed(TransientError):
    """The service could not be reached."""


class CallTimedOut(TransientError):
    """No answer within the configured time."""


class RequestRefused(BackendError):
    """The service refuses this very request, such as a prompt beyond its context window."""


class EpisodeFailed(SkillOptError):
    """A task's surroundings or its scorer failed: the attempt is broken and the run goes on."""


class BudgetExhausted(SkillOptError):
    """A cap of `run.max_*` was reached.

    Args:
        cap: which one, such as `max_usd`.
    """

    exit_code = 5

    def __init__(self, message: str, hint: str = "", *, cap: str = "") -> None:
        super().__init__(message, hint)
        self.cap = cap


class Indecisive(SkillOptError):
    """Coverage stayed below `evaluation.min_coverage`, so no comparison can be trusted."""

    exit_code = 6


class NoImprovement(SkillOptError):
    """Training finished, `--require-improvement` was given, and nothing beat the seed."""

    exit_code = 10


class TrackerFailed(SkillOptError):
    """A tracker is of no use any more; no run ends by this."""


class Interrupted(SkillOptError):
    """The user stopped the run."""

    exit_code = 130
    prefix = ""
