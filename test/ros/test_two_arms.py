"""Two arms in two namespaces on one computer: nothing of one reaches the other, and both keep up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.forked import ForkedNode

from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

from .peer import START

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "two_arms.py"
SECONDS, RATE = 2.0, 500.0


def both(way: str, *arguments: str) -> dict:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--json", "--only", way, "--seconds", str(SECONDS), "--rate", str(RATE),
         *arguments],
        capture_output=True, text=True, check=False, timeout=600.0,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)[way]


def apart(result: dict) -> None:
    """Nothing of one arm is at the other's names, and all processes end well."""
    assert result["leaks"] == []
    assert result["exit codes"] == [0] * 6


@pytest.mark.soak
def test_in_lock_step_no_reply_is_missed_on_a_busy_computer():
    result = both("lockstep", "--busy", "2")
    apart(result)
    # each arm has its own clock, and nobody the common one
    assert result["clocks"] == {"/clock": 0, "/left/clock": 1, "/right/clock": 1}
    for arm in ("left", "right"):
        figures = result[arm]
        assert figures["state"] == "holding, passing"
        assert (figures["faults"], figures["stops"], figures["take_overs"]) == (0, 0, 0)
        assert figures["rms"] < 2e-3
        assert figures["missed"] == 0
        assert 0 < figures["states"] <= SECONDS * RATE, "the record may miss some on a busy computer"


@pytest.mark.soak
def test_in_real_time_they_are_as_far_apart():
    result = both("realtime")  # whether the arms are stopped depends on the computer, as with hardware
    apart(result)
    assert result["clocks"] == {"/clock": 0, "/left/clock": 0, "/right/clock": 0}


def test_two_simulations_that_publish_one_clock_say_so(namespace):
    def simulator(arm: str) -> NodeProcess:
        return ForkedNode("simulator", [
            "--ros-args", "-r", f"__ns:={namespace}/{arm}", "-r", f"/clock:={namespace}/clock",
            "-p", "robot_description:=planar2", "-p", "publish_clock:=true", "-p", "diagnostics_period:=0.5",
        ])  # fmt: skip

    with simulator("left") as left, simulator("right") as right:
        for process in (left, right):
            wait_until(
                lambda p=process: f"2 nodes publish {namespace}/clock" in p.output(), START, "the warning",
                [left, right],
            )
        assert "-r /clock:=clock" in left.output()
