"""skillopt: train skill documents for frozen language models and agents."""

__version__ = "0.1.0"
