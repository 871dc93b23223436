"""Public fakes and conformance checks for plug-in authors."""

from skillopt_cli.store.memory import MemoryStore
from skillopt_cli.testing.benchmark import check_benchmark
from skillopt_cli.testing.chat import FunctionChat, ScriptedChat
from skillopt_cli.testing.control import ScriptedControl
from skillopt_cli.testing.run import EventLog, Toy, toy_run, toy_session
from skillopt_cli.testing.tasks import make_items, write_splits
from skillopt_cli.testing.toy import ToyBenchmark

__all__ = [
    "EventLog",
    "FunctionChat",
    "MemoryStore",
    "ScriptedChat",
    "ScriptedControl",
    "Toy",
    "ToyBenchmark",
    "check_benchmark",
    "make_items",
    "toy_run",
    "toy_session",
    "write_splits",
]
