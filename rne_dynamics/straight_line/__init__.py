"""Layer 3: the kernels written down once for one robot, without loops, as vector instructions."""
