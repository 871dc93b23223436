"""Floor 3: the loop, and what surrounds it."""
