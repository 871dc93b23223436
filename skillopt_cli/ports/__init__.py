"""The seams of the program, one Protocol each, and the specs that describe what is behind them.

Replaceable from outside: `Benchmark` (also `Interactive`, `Filed`, `Judged` or `Referenced`),
`ChatBackend`, `AgentBackend` and `Tracker`. Replaceable inside: `AttemptRunner`, `Executor`,
`Store` and `Control`. Abilities are declared as data (`needs`, `offers`, `roles`) and checked when
a session is opened.
"""

from skillopt_cli.ports.backend import AgentBackend, AttemptRunner, ChatBackend, lifetime
from skillopt_cli.ports.benchmark import Benchmark, Filed, Interactive, Judged, Referenced
from skillopt_cli.ports.control import Control, Unsteered
from skillopt_cli.ports.executor import Executor, Finished, ServiceAddress
from skillopt_cli.ports.specs import (
    MODEL_NAMED,
    BackendSpec,
    BenchmarkRequest,
    BenchmarkSpec,
    Inference,
    Inferred,
    Need,
    ProgramSource,
    RoleSettings,
    Service,
    Speed,
)
from skillopt_cli.ports.store import Emit, Store, Stored
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
    "AttemptRunner",
    "BackendSpec",
    "Benchmark",
    "BenchmarkRequest",
    "BenchmarkSpec",
    "ChatBackend",
    "Closing",
    "Control",
    "Emit",
    "Executor",
    "Filed",
    "Finished",
    "Inference",
    "Inferred",
    "Interactive",
    "Judged",
    "Need",
    "Point",
    "ProgramSource",
    "Referenced",
    "RoleSettings",
    "Server",
    "Service",
    "ServiceAddress",
    "Speed",
    "StageTime",
    "Store",
    "Stored",
    "TrackedRun",
    "Tracker",
    "TrackerSpec",
    "Unsteered",
    "lifetime",
]
