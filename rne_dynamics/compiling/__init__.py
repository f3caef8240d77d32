"""Layer 0: compilation of kernels by numba, and kernels on disk."""
