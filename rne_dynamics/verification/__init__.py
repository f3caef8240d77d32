"""Layer 4: all formulations compared: agreement, operations, time."""
