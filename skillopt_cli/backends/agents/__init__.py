"""Command-line programs as agents: each runs in a workspace, its model requests pass a relay."""
