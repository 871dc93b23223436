"""Attempts on the nodes of a Ray cluster: the driver's pool, a node's worker, and files between."""
