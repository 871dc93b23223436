"""The read model of a run: events folded once into values that every display projects from."""
