"""Pinocchio (`pip install pin`): model of the same robot, and conversion of coordinates."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from rne_dynamics.errors import ModelError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER, OFFSET, POSITION_INDEX, ROTOR, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind

#: The module, imported when it is first needed.
library = partial(import_module, "pinocchio")


def nothing() -> dict[str, Any]:
    """A model without joints and its data, to measure the call overhead."""
    model = library().Model()
    return {"model": model, "data": model.createData()}


class PinocchioModel:
    """A Pinocchio model of a robot, used in our coordinates.

    Mimic joints are independent in Pinocchio; G = ∂q̇_pin/∂q̇ makes them dependent here. Joints are matched by name,
    since the orders of branches differ.

    Parameters
    ----------
    robot
        Our model.
    model
        Pinocchio's.

    Raises
    ------
    ModelError
        The models have different joints.
    """

    def __init__(self, robot: RobotModel, model: Any) -> None:
        self.robot, self.model = robot, model
        if model.njoints - 1 != robot.bodies:
            raise ModelError(f"Pinocchio's model of {robot.name!r} has {model.njoints - 1} joints, not {robot.bodies}")
        model.gravity.linear = robot.gravity
        self.joints = [self._joint(body, name) for body, name in enumerate(robot.body_names)]
        self.G = np.zeros((model.nv, robot.n))
        armature = np.zeros(model.nv)
        for body, k in enumerate(self.joints):
            iv, jv = model.joints[k].idx_v, robot.topology[body, VELOCITY_INDEX]
            if robot.topology[body, KIND] == FLOATING:
                self.G[iv : iv + 6, jv : jv + 6] = np.eye(6)
            else:
                self.G[iv, jv] = robot.parameters[body, MULTIPLIER]
                armature[iv] = robot.parameters[body, ROTOR]
        model.armature = armature
        self.data = model.createData()

    @classmethod
    def from_urdf(cls, robot: RobotModel, text: str) -> PinocchioModel:
        """Pinocchio's model of the same URDF."""
        pin = library()
        root = (pin.JointModelFreeFlyer(),) if robot.base == "floating" else ()
        try:
            model = pin.buildModelFromXML(text, *root)
        except (ValueError, RuntimeError) as error:
            raise ModelError(f"Pinocchio does not read the URDF of {robot.name!r}: {error}") from None
        return cls(robot, model)

    @classmethod
    def from_tree(cls, robot: RobotModel) -> PinocchioModel:
        """Build the model joint by joint, for generated trees of revolute joints."""
        pin = library()
        model, number = pin.Model(), {robot.tree.root: 0}
        models = {0: pin.JointModelRX, 1: pin.JointModelRY, 2: pin.JointModelRZ}
        joints = {joint.name: joint for joint in robot.tree.joints}
        for name in robot.body_names:
            joint = joints[name]
            along = np.flatnonzero(joint.axis == 1.0)
            if joint.kind not in (JointKind.REVOLUTE, JointKind.CONTINUOUS) or len(along) != 1:
                raise ModelError(f"joint {name!r} of {robot.name!r} does not turn about x, y or z")
            placement = pin.SE3(joint.rotation, joint.position)
            k = model.addJoint(number[joint.parent], models[int(along[0])](), placement, name)
            link = robot.tree.link(joint.child)
            if link.inertia is not None:
                inertia = pin.Inertia(link.inertia.mass, link.inertia.com, link.inertia.inertia)
                model.appendBodyToJoint(k, inertia, pin.SE3.Identity())
            model.addBodyFrame(joint.child, k, pin.SE3.Identity(), model.addJointFrame(k))
            number[joint.child] = k
        return cls(robot, model)

    def _joint(self, body: int, name: str) -> int:
        if self.robot.base == "floating" and body == 0:
            return 1
        k = int(self.model.getJointId(name))
        if k >= self.model.njoints:
            raise ModelError(f"Pinocchio's model of {self.robot.name!r} has no joint {name!r}")
        return k

    def q(self, q: Array) -> Array:
        """Its positions (…, nq of its model) from ours (…, nq)."""
        out = np.tile(library().neutral(self.model), (*q.shape[:-1], 1))
        for body, k in enumerate(self.joints):
            joint, jq = self.model.joints[k], self.robot.topology[body, POSITION_INDEX]
            if self.robot.topology[body, KIND] == FLOATING:
                out[..., joint.idx_q : joint.idx_q + 7] = q[..., jq : jq + 7]
                continue
            x = self.robot.parameters[body, MULTIPLIER] * q[..., jq] + self.robot.parameters[body, OFFSET]
            if joint.nq == 2:  # continuous: (cos, sin)
                out[..., joint.idx_q], out[..., joint.idx_q + 1] = np.cos(x), np.sin(x)
            else:
                out[..., joint.idx_q] = x
        return out

    def velocity(self, qd: Array) -> Array:
        """Its velocities, accelerations or, without mimic joints, efforts (…, nv) from ours (…, n)."""
        return np.ascontiguousarray(qd @ self.G.T)

    def effort(self, tau: Array) -> Array:
        """Our efforts (…, n) from its (…, nv)."""
        return np.asarray(tau @ self.G)

    def matrix(self, M: Array, *, upper: bool = False) -> Array:
        """Our (n, n) matrix from its (nv, nv), of which perhaps only the upper triangle is filled."""
        if upper:
            M = np.triu(M) + np.triu(M, 1).T
        return np.asarray(self.G.T @ M @ self.G)

    def frame(self, link: str) -> int:
        """Number of a link's frame."""
        return int(self.model.getFrameId(link, library().FrameType.BODY))

    def regressor(self, Y: Array) -> Array:
        """Our regressor from its (nv, 10·joints); its joint axes are not along z."""
        pin, columns = library(), []
        for name, k in zip(self.robot.body_names, self.joints, strict=True):
            child = next(
                f.name for f in self.model.frames
                if f.type == pin.FrameType.BODY and f.parentJoint == k and f.placement.isIdentity(1e-12)
            )  # fmt: skip
            frame = self.robot.link(child)
            if self.robot.body_names[frame.body] != name or frame.position.any():
                raise ModelError(f"link {child!r} of {self.robot.name!r} is not where joint {name!r} is")
            turned = _parameters_turned(frame.rotation.T)  # from our frame into Pinocchio's
            columns.append(Y[:, 10 * (k - 1) : 10 * k] @ turned)
        return np.asarray(self.G.T @ np.hstack(columns))


def _parameters_turned(R: Array) -> Array:
    """Matrix (10, 10) from our parameters to Pinocchio's (Ixx Ixy Iyy Ixz Iyz Izz), in a frame rotated by R."""
    theirs = np.zeros((10, 10))
    theirs[0, 0] = 1.0
    theirs[1:4, 1:4] = R
    for c, (a, b) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
        S = np.zeros((3, 3))
        S[a, b] = S[b, a] = 1.0
        S = R @ S @ R.T
        theirs[4:, 4 + c] = S[0, 0], S[0, 1], S[1, 1], S[0, 2], S[1, 2], S[2, 2]
    return theirs
