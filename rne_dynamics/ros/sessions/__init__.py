"""Commands that start nodes, or listen to those that run."""
