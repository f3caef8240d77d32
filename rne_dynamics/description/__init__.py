"""Layer 2: reading of robot descriptions (URDF, xacro, model files), with checks that report line numbers."""
