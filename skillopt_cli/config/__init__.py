"""Floor 1: the configuration. One frozen model owns name, type, default, bounds and help."""

from skillopt_cli.config.model import RunConfig

__all__ = ["RunConfig"]
