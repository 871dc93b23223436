"""SealQA: questions whose sources conflict, with a bundled sample."""

from skillopt_cli.benchmarks.sealqa.benchmark import SPEC, SealQA

__all__ = ["SPEC", "SealQA"]
