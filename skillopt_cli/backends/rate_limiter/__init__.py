"""Rate and concurrency limits per model and provider, learned from refusals; graceful stop."""
