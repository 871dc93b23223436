"""Floor 6: parse, compose, run, report."""
