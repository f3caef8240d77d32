"""Controllers that send efforts at a rate of their own."""

from __future__ import annotations

import time

import numpy as np
import pytest

import rne_dynamics as rne

from .conftest import SEES_AGAIN

ROBOT = rne.load_urdf("planar2", gravity=(0.0, -9.81, 0.0))
Q = [-0.7, 0.4]
HELD = rne.gravity_torque(ROBOT, np.array(Q))
RATE, STATES = 200.0, 40.0


@pytest.fixture(params=["computed_torque_controller", "gravity_compensation"])
def peer(request, start, make_peer):
    process = start(
        request.param, robot_description="planar2", gravity=[0.0, -9.81, 0.0], rate=RATE, state_timeout=0.4,
        stop={"brake_time": 0.1, "ramp_time": 0.2, "hold_time": 0.0}, **SEES_AGAIN,
    )
    peer = make_peer(ROBOT.joint_names)
    peer.connect(process)
    yield peer
    process.stop()


def test_efforts_come_at_the_rate_whatever_that_of_the_states_and_end_where_they_are_stale(peer):
    np.testing.assert_allclose(peer.answer(Q), HELD, rtol=1e-12)
    peer.efforts()
    began, sent, efforts = time.monotonic(), 0, []
    while (now := time.monotonic()) < began + 2.0:
        peer.state(Q)
        sent += 1
        time.sleep(1.0 / STATES)
        efforts += peer.efforts()
    elapsed = now - began
    assert len(efforts) > 2 * sent, "the rate is not that of the states"
    assert len(efforts) < 1.2 * RATE * elapsed + 10, "nothing is caught up"
    np.testing.assert_allclose(efforts, np.tile(HELD, (len(efforts), 1)), rtol=1e-12, atol=1e-12)

    time.sleep(1.0)  # the states' time-out, the brake and the ramp
    faded = np.abs(peer.efforts())
    assert (np.diff(faded, axis=0) <= 1e-12).all(), "it fades, it never grows"
    assert (faded[-1] == 0.0).all()
    time.sleep(0.2)
    assert peer.efforts() == []
    np.testing.assert_allclose(peer.answer(Q), HELD, rtol=1e-12)
