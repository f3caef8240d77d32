"""Faults of descriptions: what is wrong, what would mislead a controller, and where."""
