"""Sweeps: many trainings over a grid of settings, and what their difference is worth."""
