"""A URDF as text in Pinocchio and in MuJoCo, against a model of ours."""

from __future__ import annotations

import pytest

pytest.importorskip("pinocchio", reason="the oracle is Pinocchio: rosdep, or pip install '.[test]'")
pytest.importorskip("mujoco", reason="the oracle is MuJoCo: pip install '.[test]'")

import mujoco
import numpy as np
import pinocchio as pin
from comparison.peers.mujoco import MujocoModel
from comparison.peers.pinocchio import PinocchioModel
from support.errors import relative_error

import rne_dynamics as rne


def in_pinocchio(robot: rne.RobotModel, text: str, seed: int) -> float:
    """Largest relative difference of inverse dynamics on random states; rotors are set, for Pinocchio reads none."""
    theirs = PinocchioModel(robot, pin.buildModelFromXML(text))

    def inverse(q, qd, qdd):
        tau = pin.rnea(theirs.model, theirs.data, theirs.q(q), theirs.G @ qd, theirs.G @ qdd)
        return theirs.G.T @ tau

    return _largest(robot, inverse, seed)


def in_mujoco(robot: rne.RobotModel, text: str, seed: int) -> float:
    """The same in MuJoCo, which reads no URDF with a moving body that has no mass, or moments that no body has."""
    theirs = MujocoModel(robot, text, "Euler", 1e-3, bare=True)

    def inverse(q, qd, qdd):
        theirs.data.qpos[:], theirs.data.qvel[:], theirs.data.qacc[:] = map(theirs.vector, (q, qd, qdd))
        mujoco.mj_inverse(theirs.model, theirs.data)
        return theirs.data.qfrc_inverse[theirs.places]

    return _largest(robot, inverse, seed)


def _largest(robot: rne.RobotModel, inverse, seed: int) -> float:
    states = np.random.default_rng(seed).uniform(-2.0, 2.0, (5, 3, robot.n))
    return max(relative_error(inverse(*state), rne.inverse_dynamics(robot, *state)) for state in states)
