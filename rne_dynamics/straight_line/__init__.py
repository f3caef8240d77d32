"""Layer 3: kernels of one robot as vector instructions without loops, for batches."""
