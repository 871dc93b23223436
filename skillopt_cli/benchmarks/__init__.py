"""Benchmarks: tasks, briefs and scorers. Imports: core, ports."""
