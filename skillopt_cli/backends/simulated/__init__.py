"""The backend `simulated`: a deterministic target and optimizer, for tests, docs and timing.

It sees only what a real model sees. It is never the answer to "does it work".
"""

from skillopt_cli.backends.simulated.backend import SPEC, Simulated, open_simulated

__all__ = ["SPEC", "Simulated", "open_simulated"]
