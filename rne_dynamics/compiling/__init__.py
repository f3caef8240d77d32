"""Layer 0: compilation of kernels, and machine code on disk."""
