"""Pinocchio as an oracle: its results for the same URDF in our coordinates."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pinocchio", reason="the oracle is Pinocchio: rosdep, or pip install '.[test]'")

import numpy as np
import pinocchio as pin
from comparison.peers.pinocchio import PinocchioModel

from rne_dynamics.model.robot import RobotModel


def condition(M: np.ndarray) -> float:
    """Condition number of M scaled to a unit diagonal (units of joints do not count); infinite where singular."""
    d = np.diag(M)
    smallest = np.linalg.eigvalsh(M / np.sqrt(np.outer(d, d)))[0] if (d > 0.0).all() else 0.0
    return len(d) / smallest if smallest > 0.0 else np.inf


class Oracle(PinocchioModel):
    """A Pinocchio model of the same file."""

    def __init__(self, robot: RobotModel, path: Path) -> None:
        root = (pin.JointModelFreeFlyer(),) if robot.base == "floating" else ()
        super().__init__(robot, pin.buildModelFromUrdf(str(path), *root))

    def _forces(self, wrenches) -> pin.StdVec_Force:
        forces = pin.StdVec_Force([pin.Force.Zero() for _ in range(self.model.njoints)])
        for link, wrench in (wrenches or {}).items():
            frame = self.model.frames[self.model.getFrameId(link, pin.FrameType.BODY)]
            forces[frame.parentJoint] += frame.placement.act(pin.Force(wrench[:3], wrench[3:]))
        return forces

    def inverse_dynamics(self, q, qd, qdd, wrenches=None) -> np.ndarray:
        forces = self._forces(wrenches)
        tau = pin.rnea(self.model, self.data, self.q(q), self.G @ qd, self.G @ qdd, forces)
        return self.G.T @ tau

    def forward_dynamics(self, q, qd, tau, wrenches=None) -> np.ndarray:
        """By Pinocchio's articulated bodies where every joint is independent, else by its mass matrix."""
        if self.robot.has_mimic:
            bias = self.inverse_dynamics(q, qd, np.zeros(self.robot.n), wrenches)
            return np.linalg.solve(self.mass_matrix(q), tau - bias)
        forces = self._forces(wrenches)
        return self.G.T @ pin.aba(self.model, self.data, self.q(q), self.G @ qd, self.G @ tau, forces)

    def mass_matrix(self, q) -> np.ndarray:
        M = np.triu(pin.crba(self.model, self.data, self.q(q)))
        return self.G.T @ (M + np.triu(M, 1).T) @ self.G

    def coriolis(self, q, qd) -> np.ndarray:
        return self.G.T @ pin.computeCoriolisMatrix(self.model, self.data, self.q(q), self.G @ qd) @ self.G

    def inverse_derivatives(self, q, qd, qdd, wrenches=None) -> tuple[np.ndarray, np.ndarray]:
        """∂τ/∂q and ∂τ/∂q̇; Pinocchio's tangent of a free flyer is ours."""
        state = self.q(q), self.G @ qd, self.G @ qdd
        pin.computeRNEADerivatives(self.model, self.data, *state, self._forces(wrenches))
        return self.G.T @ self.data.dtau_dq @ self.G, self.G.T @ self.data.dtau_dv @ self.G

    def forward_derivatives(self, q, qd, tau, wrenches=None) -> tuple[np.ndarray, np.ndarray]:
        """∂q̈/∂q and ∂q̈/∂q̇ where every joint is independent."""
        assert not self.robot.has_mimic
        state = self.q(q), self.G @ qd, self.G @ tau
        pin.computeABADerivatives(self.model, self.data, *state, self._forces(wrenches))
        return self.G.T @ self.data.ddq_dq @ self.G, self.G.T @ self.data.ddq_dv @ self.G

    def regressor(self, q, qd, qdd) -> np.ndarray:
        return super().regressor(
            pin.computeJointTorqueRegressor(self.model, self.data, self.q(q), self.G @ qd, self.G @ qdd)
        )

    def gravity(self, q) -> np.ndarray:
        return self.G.T @ pin.computeGeneralizedGravity(self.model, self.data, self.q(q))

    def bias(self, q, qd) -> np.ndarray:
        return self.G.T @ pin.nonLinearEffects(self.model, self.data, self.q(q), self.G @ qd)

    def pose(self, q, link: str) -> np.ndarray:
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        return self.data.oMf[self.model.getFrameId(link, pin.FrameType.BODY)].homogeneous

    def jacobian(self, q, link: str) -> np.ndarray:
        frame = self.model.getFrameId(link, pin.FrameType.BODY)
        J = pin.computeFrameJacobian(self.model, self.data, self.q(q), frame, pin.LOCAL_WORLD_ALIGNED)
        return J @ self.G

    def jacobian_rate(self, q, qd, link: str) -> np.ndarray:
        frame = self.model.getFrameId(link, pin.FrameType.BODY)
        if self.model.frames[frame].parentJoint == 0:
            return np.zeros((6, self.robot.n))  # Pinocchio crashes on a frame of the universe
        pin.computeJointJacobiansTimeVariation(self.model, self.data, self.q(q), self.G @ qd)
        pin.updateFramePlacements(self.model, self.data)
        dJ = pin.getFrameJacobianTimeVariation(self.model, self.data, frame, pin.LOCAL_WORLD_ALIGNED)
        return dJ @ self.G

    def kinetic_energy(self, q, qd) -> float:
        return pin.computeKineticEnergy(self.model, self.data, self.q(q), self.G @ qd)

    def potential_energy(self, q) -> float:
        """Pinocchio leaves out what is fixed to the base; the constant is added here."""
        base = self.model.inertias[0]
        moving = pin.computePotentialEnergy(self.model, self.data, self.q(q))
        return moving - base.mass * base.lever @ self.robot.gravity
