"""Results as tables for other programs."""
