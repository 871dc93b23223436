"""Simulated worlds for comparing optimizers: tasks, a target, an optimizer model, a server."""
