"""Floor 1: the seams between the program and what may be replaced, and what is said of each."""

from skillopt_cli.ports.control import Control, Unsteered
from skillopt_cli.ports.seams import (
    AgentBackend,
    Benchmark,
    ChatBackend,
    Emit,
    Executor,
    Finished,
    Interactive,
    Judged,
    Reach,
    Store,
)
from skillopt_cli.ports.specs import (
    MODEL_NAMED,
    BackendSpec,
    BenchmarkRequest,
    BenchmarkSpec,
    Need,
    RoleSettings,
)
from skillopt_cli.ports.tracking import (
    Closing,
    Point,
    Server,
    StageTime,
    TrackedRun,
    Tracker,
    TrackerSpec,
)

__all__ = [
    "MODEL_NAMED",
    "AgentBackend",
    "BackendSpec",
    "Benchmark",
    "BenchmarkRequest",
    "BenchmarkSpec",
    "ChatBackend",
    "Closing",
    "Control",
    "Emit",
    "Executor",
    "Finished",
    "Interactive",
    "Judged",
    "Need",
    "Point",
    "Reach",
    "RoleSettings",
    "Server",
    "StageTime",
    "Store",
    "TrackedRun",
    "Tracker",
    "TrackerSpec",
    "Unsteered",
]
