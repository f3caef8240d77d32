"""Layer 1: the frozen robot model, the tree it comes from, and inertia tools."""
