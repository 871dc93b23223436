"""Chat models over HTTP or in this process: one file per provider, and what they share."""
