"""Floor 4: from a configuration to a run. The only place that constructs collaborators."""
