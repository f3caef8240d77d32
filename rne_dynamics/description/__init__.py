"""Layer 2: robot descriptions (URDF, xacro) read, checked with line numbers, and made into models."""
