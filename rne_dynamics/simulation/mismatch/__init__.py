"""Arms that differ from their model on purpose, and the comparison of laws on them."""
