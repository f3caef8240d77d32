"""World motion: the accelerations that velocities alone give are those of the Jacobians' rates."""

from __future__ import annotations

import numpy as np
import pytest
from support.arms import chain, docked_vehicle, floating_arm, gripper, slider

import rne_dynamics as rne
from rne_dynamics.compiling.jit import kernel
from rne_dynamics.dynamics.kinematics.kinematics import POSE_COLUMNS, put_pose
from rne_dynamics.dynamics.kinematics.world_motion import motions_in_world
from rne_dynamics.spatial.pairs import put_pair


@kernel
def _filled(topology, parameters, q, qd, out):
    X, V, a = motions_in_world(topology, parameters, q, qd, True)
    for i in range(topology.shape[0]):
        put_pose(out, i, X[i])
        put_pair(out, i, POSE_COLUMNS, V[i])
        put_pair(out, i, POSE_COLUMNS + 6, a[i])


@pytest.mark.parametrize(
    "robot", [chain(4), gripper(), slider(), floating_arm(), docked_vehicle()], ids=lambda robot: robot.name
)
def test_velocity_and_drift_of_every_link(robot):
    rng = np.random.default_rng(5)
    q, qd = rne.random_configuration(robot, rng), rng.normal(size=robot.n)
    work = np.zeros((robot.bodies, POSE_COLUMNS + 12))
    _filled(robot.topology, robot.parameters, q, qd, work)
    for name, frame in robot.links.items():
        if frame.body < 0:
            continue
        row = work[frame.body]
        v, w, dv, dw = row[POSE_COLUMNS:].reshape(4, 3)
        r = row[:9].reshape(3, 3) @ frame.position
        velocity = np.concatenate([v + np.cross(w, r), w])
        drift = np.concatenate([dv + np.cross(dw, r) + np.cross(w, np.cross(w, r)), dw])
        np.testing.assert_allclose(velocity, rne.jacobian(robot, q, name) @ qd, rtol=0.0, atol=1e-13)
        np.testing.assert_allclose(drift, rne.jacobian_rate(robot, q, qd, name) @ qd, rtol=0.0, atol=1e-12)
