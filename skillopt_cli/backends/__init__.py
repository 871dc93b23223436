"""Model backends: chat APIs, agents, a simulated model; middleware and rate limits around them."""
