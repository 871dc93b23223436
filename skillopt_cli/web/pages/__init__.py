"""The pages: each function builds the variables of a template."""
