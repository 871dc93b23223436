"""Recordings of a run's model calls, and runs replayed from them without any model."""
