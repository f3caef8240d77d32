"""Layer 2: one algorithm a file, pure functions of (model, q, …)."""
