"""The public Python API: train, evaluate, answer, prune, resume and load runs."""

from skillopt_cli.api.answering import answer, answer_async
from skillopt_cli.api.evaluation import evaluate, evaluate_async
from skillopt_cli.api.pruning import prune, prune_async
from skillopt_cli.api.result import Decision, RunResult, SplitScore, load_run
from skillopt_cli.api.training import resume, resume_async, train, train_async

__all__ = [
    "Decision",
    "RunResult",
    "SplitScore",
    "answer",
    "answer_async",
    "evaluate",
    "evaluate_async",
    "load_run",
    "prune",
    "prune_async",
    "resume",
    "resume_async",
    "train",
    "train_async",
]
