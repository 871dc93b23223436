"""Beside the stages: model backends, wrappers around them, and their budget."""
