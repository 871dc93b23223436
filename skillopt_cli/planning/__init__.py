"""Plans: what a training will take and cost, before anything is spent."""
