"""Floor 0: values and pure functions. Standard library only, no I/O, no clock."""
