"""The terminal: the panel, the plain lines and the JSON lines of a run at work."""
