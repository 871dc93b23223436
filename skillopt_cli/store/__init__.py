"""A run's memory on disk: run folder, journal, codec. Imports: core, ports."""
