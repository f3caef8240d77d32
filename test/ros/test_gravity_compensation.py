"""The gravity compensation process, by itself and on a simulated arm."""

from __future__ import annotations

import signal

import numpy as np

import rne_dynamics as rne

from .peer import AT_ONCE

ROBOT = rne.load_urdf("panda")
START_AT = {"panda_joint2": -0.5, "panda_joint4": -2.0, "panda_joint6": 1.5}
#: N m s/rad.
D = 0.005
Q = np.array([START_AT.get(j, 0.0) for j in ROBOT.joint_names])


def test_it_holds_gravity_damps_and_gives_the_arm_back(in_lockstep):
    process, peer = in_lockstep(
        "gravity_compensation", ROBOT.joint_names, robot_description="panda",
        gains={j: {"d": D} for j in ROBOT.joint_names}, friction_compensation=0,
        stop={"hold_time": 0.1, "ramp_time": 0.2}, **AT_ONCE,
    )
    gravity = rne.gravity_torque(ROBOT, Q)
    np.testing.assert_allclose(peer.answer(Q), gravity, atol=1e-12)
    qd = np.linspace(-0.1, 0.1, 7)  # slow enough not to contradict positions that do not change
    np.testing.assert_allclose(gravity - peer.answer(Q, qd), D * qd, rtol=1e-9, atol=1e-12)
    moved = Q + 0.3
    peer.lead(Q, moved)
    peer.stream(moved, 0.3)  # until it believes that the arm rests
    np.testing.assert_allclose(peer.answer(moved), rne.gravity_torque(ROBOT, moved), atol=1e-12, err_msg="no spring")
    process.signal(signal.SIGINT)
    assert peer.end(process) == 0
    assert peer.efforts()[-1] == [0.0] * 7
