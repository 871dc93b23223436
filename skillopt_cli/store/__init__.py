"""Storage of a run: run folder, event log, journal, lock, codec, recordings."""
