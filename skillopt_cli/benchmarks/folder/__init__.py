"""Own tasks: a task file or a folder of splits, with a scorer named by an option."""

from skillopt_cli.benchmarks.folder.benchmark import SPEC, FolderBenchmark, open_folder
from skillopt_cli.benchmarks.folder.options import FolderOptions

__all__ = ["SPEC", "FolderBenchmark", "FolderOptions", "open_folder"]
