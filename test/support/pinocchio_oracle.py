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

    def inverse_dynamics(self, q, qd, qdd, wrenches=None) -> np.ndarray:
        forces = pin.StdVec_Force([pin.Force.Zero() for _ in range(self.model.njoints)])
        for link, wrench in (wrenches or {}).items():
            frame = self.model.frames[self.model.getFrameId(link, pin.FrameType.BODY)]
            forces[frame.parentJoint] += frame.placement.act(pin.Force(wrench[:3], wrench[3:]))
        tau = pin.rnea(self.model, self.data, self.q(q), self.G @ qd, self.G @ qdd, forces)
        return self.G.T @ tau

    def forward_dynamics(self, q, qd, tau, wrenches=None) -> np.ndarray:
        """By Pinocchio's articulated bodies where every joint is independent, else by its mass matrix."""
        if self.robot.has_mimic:
            bias = self.inverse_dynamics(q, qd, np.zeros(self.robot.n), wrenches)
            return np.linalg.solve(self.mass_matrix(q), tau - bias)
        forces = pin.StdVec_Force([pin.Force.Zero() for _ in range(self.model.njoints)])
        for link, wrench in (wrenches or {}).items():
            frame = self.model.frames[self.model.getFrameId(link, pin.FrameType.BODY)]
            forces[frame.parentJoint] += frame.placement.act(pin.Force(wrench[:3], wrench[3:]))
        return self.G.T @ pin.aba(self.model, self.data, self.q(q), self.G @ qd, self.G @ tau, forces)

    def mass_matrix(self, q) -> np.ndarray:
        M = np.triu(pin.crba(self.model, self.data, self.q(q)))
        return self.G.T @ (M + np.triu(M, 1).T) @ self.G

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
