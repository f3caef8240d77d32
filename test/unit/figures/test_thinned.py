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


def test_a_gap_stays_a_gap():
    t, kept = thinned(time := np.arange(200_000.0), np.where((time >= 5e4) & (time < 6e4), np.nan, 0.0))
    assert np.isnan(kept[(t >= 5e4) & (t < 6e4)]).all()
    assert np.isnan(kept).any()
