"""A controller that sends efforts at a rate of its own, in simulated time."""

from __future__ import annotations

import numpy as np

import rne_dynamics as rne

from .peer import SEES_AGAIN

ROBOT = rne.load_urdf("planar2")
Q = [-0.7, 0.4]
HELD = rne.gravity_torque(ROBOT, np.array(Q))
RATE, STATES = 200.0, 100.0


def test_efforts_come_at_the_rate_whatever_that_of_the_states_and_end_where_they_are_stale(in_lockstep):
    _, peer = in_lockstep(
        "computed_torque_controller", ROBOT.joint_names, robot_description="planar2", rate=RATE, state_timeout=0.4,
        stop={"brake_time": 0.1, "ramp_time": 0.2, "hold_time": 0.0}, **SEES_AGAIN,
    )
    np.testing.assert_allclose(peer.answer(Q), HELD, rtol=1e-12)
    peer.efforts()
    count, efforts = 100, []
    for _ in range(count):
        peer.state(Q)
        for _ in range(2):
            peer.pass_time(0.5 / STATES)
        efforts += peer.efforts()
    assert len(efforts) == count * RATE / STATES, "the rate is not that of the states"
    np.testing.assert_allclose(efforts, np.tile(HELD, (len(efforts), 1)), rtol=1e-12, atol=1e-12)

    peer.pass_time(1.0)  # the states' time-out, the brake and the ramp
    faded = np.abs(peer.efforts())
    assert (np.diff(faded, axis=0) <= 1e-12).all(), "it fades, it never grows"
    assert (faded[-1] == 0.0).all()
    peer.pass_time(0.2)
    assert peer.efforts() == []
    np.testing.assert_allclose(peer.answer(Q), HELD, rtol=1e-12)
