"""Trackers: the numbers of a run in MLflow, Weights & Biases, TensorBoard and OpenTelemetry."""
