"""Reports of the nodes for /diagnostics and their state topics."""
