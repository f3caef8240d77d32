"""Layer 0: vectors, rotations, pairs and rigid-body inertias as tuples; small dense solvers."""
