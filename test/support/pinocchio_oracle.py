"""Pinocchio as an oracle: the same URDF in its model, and the maps between its coordinates and ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin

from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER, OFFSET, POSITION_INDEX, ROTOR, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel


class Oracle:
    """A Pinocchio model of the same file, spoken to in our coordinates.

    Pinocchio is told nothing of mimic joints: it moves them as independent ones, and the chain rule (the matrix
    G = ∂q̇_pin/∂q̇) makes them dependent here.
    """

    def __init__(self, robot: RobotModel, path: Path) -> None:
        self.robot = robot
        root = (pin.JointModelFreeFlyer(),) if robot.base == "floating" else ()
        self.model = pin.buildModelFromUrdf(str(path), *root)
        self.model.gravity.linear = robot.gravity
        self.data = self.model.createData()
        self.G = np.zeros((self.model.nv, robot.n))
        armature = np.zeros(self.model.nv)
        for body, name in enumerate(robot.body_names):
            k = self._joint(body, name)
            iv = self.model.joints[k].idx_v
            kind, jv = robot.topology[body, KIND], robot.topology[body, VELOCITY_INDEX]
            if kind == FLOATING:
                self.G[iv : iv + 6, jv : jv + 6] = np.eye(6)
            else:
                self.G[iv, jv] = robot.parameters[body, MULTIPLIER]
                armature[iv] = robot.parameters[body, ROTOR]
        self.model.armature = armature
        assert self.model.njoints - 1 == robot.bodies

    def _joint(self, body: int, name: str) -> int:
        if self.robot.base == "floating" and body == 0:
            return 1
        k = self.model.getJointId(name)
        assert k < self.model.njoints, f"Pinocchio knows no joint {name}"
        return k

    def q(self, q: np.ndarray) -> np.ndarray:
        out = pin.neutral(self.model)
        for body, name in enumerate(self.robot.body_names):
            joint = self.model.joints[self._joint(body, name)]
            jq = self.robot.topology[body, POSITION_INDEX]
            if self.robot.topology[body, KIND] == FLOATING:
                out[joint.idx_q : joint.idx_q + 7] = q[jq : jq + 7]
                continue
            x = self.robot.parameters[body, MULTIPLIER] * q[jq] + self.robot.parameters[body, OFFSET]
            if joint.nq == 2:  # continuous: (cos, sin)
                out[joint.idx_q : joint.idx_q + 2] = np.cos(x), np.sin(x)
            else:
                out[joint.idx_q] = x
        return out

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
        """In our order and axes; Pinocchio's joint frames are not turned to have the axis along z."""
        Y = pin.computeJointTorqueRegressor(self.model, self.data, self.q(q), self.G @ qd, self.G @ qdd)
        columns = []
        for body, name in enumerate(self.robot.body_names):
            k = self._joint(body, name)
            child = next(
                f.name for f in self.model.frames
                if f.type == pin.FrameType.BODY and f.parentJoint == k and f.placement.isIdentity(1e-12)
            )  # fmt: skip
            frame = self.robot.link(child)
            assert frame.body == body
            assert not frame.position.any()
            R = frame.rotation.T  # from our frame into Pinocchio's
            theirs = np.zeros((10, 10))  # their parameters from ours
            theirs[0, 0] = 1.0
            theirs[1:4, 1:4] = R
            for c, (a, b) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
                S = np.zeros((3, 3))
                S[a, b] = S[b, a] = 1.0
                S = R @ S @ R.T
                theirs[4:, 4 + c] = S[0, 0], S[0, 1], S[1, 1], S[0, 2], S[1, 2], S[2, 2]
            columns.append(Y[:, 10 * (k - 1) : 10 * k] @ theirs)
        return self.G.T @ np.hstack(columns)

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
