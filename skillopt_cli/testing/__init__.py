"""Public test kit for plug-in authors: fakes, conformance checks, runs in memory, a model server.

A plug-in's tests import from here alone; each export documents itself.

- Chat backends: `ScriptedChat`, `FunctionChat`.
- A benchmark in memory and its tasks: `ToyBenchmark`, `make_items`, `write_splits`.
- Runs in memory: `Toy`, `toy_run`, `toy_session`, with `MemoryStore`, `EventLog` and
  `ScriptedControl`.
- Conformance: `check_benchmark`.
- A model server on the loopback: `run_model_server`, `ModelServer`, `ScriptedResponse`.
- Values that tests pass to plug-ins: requests, messages and settings of roles.
"""

from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, ChatReply, ChatRequest, Message, Task, Usage
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import BenchmarkRequest, Closing, Point, RoleSettings, TrackedRun
from skillopt_cli.store.memory import MemoryStore
from skillopt_cli.testing.benchmark import check_benchmark
from skillopt_cli.testing.chat import FunctionChat, ScriptedChat, ScriptedControl
from skillopt_cli.testing.model_process import ModelServer, ScriptedResponse, run_model_server
from skillopt_cli.testing.run import EventLog, Toy, toy_run, toy_session
from skillopt_cli.testing.tasks import ToyBenchmark, make_items, write_splits

__all__ = [
    "Attempt",
    "BenchmarkRequest",
    "Brief",
    "ChatReply",
    "ChatRequest",
    "Closing",
    "EventLog",
    "FunctionChat",
    "LocalExecutor",
    "MemoryStore",
    "Message",
    "ModelServer",
    "Point",
    "RoleSettings",
    "ScriptedChat",
    "ScriptedControl",
    "ScriptedResponse",
    "SkillDocument",
    "Task",
    "Toy",
    "ToyBenchmark",
    "TrackedRun",
    "Usage",
    "check_benchmark",
    "make_items",
    "run_model_server",
    "toy_run",
    "toy_session",
    "write_splits",
]
