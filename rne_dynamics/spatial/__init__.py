"""Layer 0: rotations, 3-vectors and symmetric matrices as tuples, compiled where numba is installed."""
