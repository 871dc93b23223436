"""Search for episodes: a small protocol, an index without a network, a service, and tools."""
