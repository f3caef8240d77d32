"""Relative difference of two arrays."""

from __future__ import annotations

import numpy as np


def relative_error(value, expected, scale: float = 0.0) -> float:
    """Largest difference over the largest magnitude (at least `scale`); 0 where both are zero."""
    value, expected = np.asarray(value), np.asarray(expected)
    assert value.shape == expected.shape, f"{value.shape} is not {expected.shape}"
    if value.size == 0:
        return 0.0
    difference = np.abs(value - expected).max()
    size = max(np.abs(expected).max(), scale)
    return float(difference / size) if size > 0.0 else float(difference)
