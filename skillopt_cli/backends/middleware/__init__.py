"""Backends around a backend: cache, retries, time limit, budget, metering, recording."""
