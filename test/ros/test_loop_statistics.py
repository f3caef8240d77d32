"""What the controllers count about their loop, against NumPy on the same times."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rne_dynamics.ros.loop.statistics import CENTRES, Histogram, LoopStatistics, percentile

WIDTH = 1.0 / 128.0  # of a bin, of its value at most


def filled(durations) -> Histogram:
    histogram = Histogram()
    for duration in durations:
        histogram.add(float(duration))
    return histogram


def test_percentiles_are_numpy_s_to_a_bin_s_width():
    durations = np.random.default_rng(0).lognormal(math.log(3e-4), 1.0, 5000)
    histogram = filled(durations)
    for percent in (1.0, 50.0, 99.0, 99.9, 100.0):
        exact = np.percentile(durations, percent, method="inverted_cdf")
        assert exact <= percentile(histogram.counts(), percent) <= exact * (1.0 + WIDTH)
    assert histogram.largest == durations.max()
    assert histogram.count == len(durations)
    assert percentile(histogram.counts(), 50.0, CENTRES) == pytest.approx(np.median(durations), rel=WIDTH)


def play(statistics: LoopStatistics, arrivals, latencies) -> None:
    for arrived, latency in zip(arrivals, latencies, strict=True):
        statistics.arrived(float(arrived))
        statistics.replied(float(arrived + latency), float(arrived))


def test_an_interval_and_the_totals():
    statistics = LoopStatistics(100.0)
    play(statistics, 100.0 + 1e-3 * np.arange(1000), np.full(1000, 3e-4))
    first = statistics.report(101.0)
    assert first["state rate (Hz)"] == first["effort rate (Hz)"] == 1000.0
    assert first["reply latency p50 (ms)"] == pytest.approx(0.3, rel=WIDTH)
    assert first["longest reply (ms)"] == pytest.approx(0.3)

    # half the rate; one state in a hundred comes 0.4 ms late; one late answer, and one that is longer than a period
    arrivals = 101.0 + 2e-3 * np.arange(500)
    arrivals[::100] += 4e-4
    latencies = np.full(500, 3e-4)
    latencies[[7, 8]] = 0.9e-3, 1.2e-3
    play(statistics, arrivals, latencies)
    statistics.efforts += 1
    statistics.overruns += 1
    second = statistics.report(102.0)
    assert second["state rate (Hz)"] == 500.0
    assert second["effort rate (Hz)"] == 501.0
    assert second["largest state jitter (ms)"] == pytest.approx(0.6, abs=0.02)  # between the two rates
    assert second["longest reply (ms)"] == pytest.approx(1.2)
    assert (second["joint states"], second["efforts"]) == (1500, 1501)
    assert second["overruns"] == 2  # the deadline and the answer longer than the 1 ms that held before

    third = statistics.report(103.0)
    assert third["state rate (Hz)"] == third["longest reply (ms)"] == 0.0
    assert math.isnan(third["largest state jitter (ms)"])
    assert third["longest reply since activation (ms)"] == pytest.approx(1.2)
    assert third["overruns"] == 2


def test_lost_states_leave_gaps():
    statistics = LoopStatistics(0.0)
    arrivals = np.delete(1e-3 * np.arange(1000), [100, 200, 201])
    play(statistics, arrivals, np.full(len(arrivals), 1e-4))
    report = statistics.report(1.0)
    assert report["state gaps"] == 2
    assert report["largest state jitter (ms)"] == pytest.approx(2.0, abs=0.02)
