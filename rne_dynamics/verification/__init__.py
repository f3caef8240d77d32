"""Layer 4: all formulations beside each other: agreement, operations, time."""
