"""Contact that is felt through the joints: external efforts, wrenches, thresholds."""
