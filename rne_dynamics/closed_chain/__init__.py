"""Layer 3: mechanisms with closed loops."""
