"""Curves with many points look the same with few."""

from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.figures.tracking import MOST_POINTS, thinned


@pytest.mark.parametrize("rows", [1, MOST_POINTS, MOST_POINTS + 1, 123_457])
def test_extremes_and_ends_of_a_long_curve_are_kept(rows):
    time = 1e-3 * np.arange(rows)
    values = np.sin(50.0 * time) + 1e-3 * np.random.default_rng(0).standard_normal(rows)
    values[rows // 3] = 9.0  # a single sample
    t, kept = thinned(time, values)
    assert len(t) == len(kept) <= MOST_POINTS + 1
    assert (np.diff(t) >= 0.0).all()
    assert (kept.max(), kept.min(), t[-1], kept[-1]) == (values.max(), values.min(), time[-1], values[-1])
    assert t[0] <= 0.1
    np.testing.assert_array_equal(kept, values[np.searchsorted(time, t)])
    if rows <= MOST_POINTS:
        np.testing.assert_array_equal(kept, values)


def test_a_gap_stays_a_gap():
    values = np.zeros(200_000)
    values[50_000:60_000] = np.nan
    t, kept = thinned(np.arange(200_000.0), values)
    assert np.isnan(kept[(t >= 50_000) & (t < 60_000)]).all()
    assert np.isnan(kept).any()
