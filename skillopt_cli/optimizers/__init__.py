"""Optimizers that need no model."""
