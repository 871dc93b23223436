"""Floor 1: the configuration. One frozen model owns name, type, default, bounds and help."""

from skillopt_cli.config.model import RunConfig
from skillopt_cli.config.section import Setting, SettingsSection

__all__ = ["RunConfig", "Setting", "SettingsSection"]
