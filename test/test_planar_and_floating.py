"""Planar and floating joints in the middle of a tree, read from one URDF by this package and by Pinocchio."""

from __future__ import annotations

import pytest

pytest.importorskip("pinocchio", reason="the oracle is Pinocchio: rosdep, or pip install '.[test]'")

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation
from support.errors import relative_error

import rne_dynamics as rne
from rne_dynamics.model.bodies import align_z

TOLERANCE = 1e-12


def described(axis: str) -> str:
    """An arm that carries a table with a puck (planar), which carries an arm; and a satellite (floating) with one."""
    bodies = "".join(
        f'<link name="{name}"><inertial><origin xyz="0.0{k} -0.05 0.1{k}" rpy="0.{k} 0.2 -0.1"/><mass value="{k + 1}"/>'
        f'<inertia ixx="0.0{k + 2}" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.003" izz="0.04"/></inertial></link>'
        for k, name in enumerate(("base", "turret", "puck", "finger", "satellite", "antenna", "mast"))
    )
    joints = "".join(
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.4 0.{k}"/><axis xyz="{along}"/>'
        '<limit lower="-2" upper="2" effort="10" velocity="3"/></joint>'
        for k, (name, kind, parent, child, along) in enumerate((
            ("turn", "revolute", "base", "turret", "0 1 0"),
            ("slide", "planar", "turret", "puck", axis),
            ("bend", "revolute", "puck", "finger", "0.6 0 0.8"),
            ("drift", "floating", "turret", "satellite", "0 0 1"),
            ("extend", "prismatic", "satellite", "antenna", "1 0 0"),
            ("spin", "continuous", "finger", "mast", "0 0 1"),
        ))
    )  # fmt: skip
    return f'<robot name="table">{bodies}{joints}</robot>'


def spelled_out(axis: str) -> str:
    """The same for Pinocchio, whose planar joint always slides in x and y: with a frame whose z axis is `axis`."""
    turn = Rotation.from_matrix(align_z(np.array(axis.split(), dtype=float)))
    placed = Rotation.from_euler("xyz", [0.3, -0.4, 0.1])
    text = described("0 0 1")
    for old, new in (
        ('<child link="puck"/><origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.4 0.1"/>',
         f'<child link="slid"/><origin xyz="0.1 -0.2 0.3" rpy="{_rpy(placed * turn)}"/>'),
        ("</robot>",
         '<link name="slid"/><joint name="back" type="fixed"><parent link="slid"/><child link="puck"/>'
         f'<origin rpy="{_rpy(turn.inv())}"/></joint></robot>'),
    ):  # fmt: skip
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def _rpy(rotation: Rotation) -> str:
    return " ".join(map(repr, rotation.as_euler("xyz").tolist()))


class Twin:
    """Pinocchio's model of the same robot, in our coordinates."""

    def __init__(self, axis: str, base: str) -> None:
        self.robot = rne.load_urdf(described(axis), base=base)  # type: ignore[arg-type]  # one of both
        root = (pin.JointModelFreeFlyer(),) if base == "floating" else ()
        self.model = pin.buildModelFromXML(spelled_out(axis), *root)
        self.data = self.model.createData()
        self.names = list(self.model.names[1:])

    def q(self, q: np.ndarray) -> np.ndarray:
        """Its positions: of the planar joint (x, y, cos, sin), of the continuous one (cos, sin)."""
        out, at = pin.neutral(self.model), self._positions()
        for name, joint in self._joints():
            ours = q[at[name] : at[name] + (7 if joint.nq == 7 else 3 if joint.nq == 4 else 1)]
            turn = [np.cos(ours[-1]), np.sin(ours[-1])]
            theirs = {7: ours, 4: [*ours[:2], *turn], 2: turn, 1: ours}[joint.nq]
            out[joint.idx_q : joint.idx_q + joint.nq] = theirs
        return out

    def rate(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """G and Ġ q̇ of its velocities v = G q̇: of a planar joint it has them in the axes of the body that slides."""
        G, drift = np.zeros((self.model.nv, self.robot.n)), np.zeros(self.model.nv)
        at, position = self._velocities(), self._positions()
        for name, joint in self._joints():
            theirs, ours = slice(joint.idx_v, joint.idx_v + joint.nv), slice(at[name], at[name] + joint.nv)
            G[theirs, ours] = np.eye(joint.nv)
            if joint.nq == 4:
                c, s = np.cos(q[position[name] + 2]), np.sin(q[position[name] + 2])
                R, w = np.array([[c, -s], [s, c]]), qd[at[name] + 2]
                G[joint.idx_v : joint.idx_v + 2, at[name] : at[name] + 2] = R.T
                dR = w * np.array([[-s, -c], [c, -s]])
                drift[joint.idx_v : joint.idx_v + 2] = dR.T @ qd[at[name] : at[name] + 2]
        return G, drift

    def _joints(self) -> list[tuple[str, pin.JointModel]]:
        return [(name, self.model.joints[self.model.getJointId(name)]) for name in self.names]

    def _velocities(self) -> dict[str, int]:
        # a joint of several coordinates has names with a stroke: slide/x, drift/trans_x
        first: dict[str, int] = {}
        for k, name in enumerate(self.robot.joint_names):
            first.setdefault("root_joint" if name.startswith("base/") else name.partition("/")[0], k)
        return first

    def _positions(self) -> dict[str, int]:
        out, shift = {}, 0
        for name, k in self._velocities().items():
            out[name] = k + shift
            shift += name in ("root_joint", "drift")  # a quaternion has one number more than an angular velocity
        return out


@pytest.mark.parametrize(("base", "axis"), [
    ("fixed", "0 1 0"), ("floating", "0.48 -0.64 -0.6"),
])
def test_a_file_with_both_is_that_of_pinocchio(base: str, axis: str) -> None:
    twin, rng = Twin(axis, base), np.random.default_rng(3)
    robot, model, data = twin.robot, twin.model, twin.data
    assert robot.n == model.nv == (13 if base == "fixed" else 19)
    for _ in range(3):
        q = rne.random_configuration(robot, rng)
        qd, qdd = rng.normal(size=(2, robot.n))
        x, (G, drift) = twin.q(q), twin.rate(q, qd)
        v, a = G @ qd, G @ qdd + drift
        tau = rne.inverse_dynamics(robot, q, qd, qdd)
        assert relative_error(tau, G.T @ pin.rnea(model, data, x, v, a)) < TOLERANCE
        gravity = G.T @ pin.computeGeneralizedGravity(model, data, x)
        assert relative_error(rne.gravity_torque(robot, q), gravity) < TOLERANCE
        bias = G.T @ pin.rnea(model, data, x, v, drift)
        assert relative_error(rne.bias_torque(robot, q, qd), bias) < TOLERANCE
        M = pin.crba(model, data, x)
        M = np.triu(M) + np.triu(M, 1).T
        assert relative_error(rne.mass_matrix(robot, q), G.T @ M @ G) < TOLERANCE
        for method in ("nasser", "walker_orin", "lagrange"):
            back = rne.forward_dynamics(robot, q, qd, tau, method=method)  # type: ignore[arg-type]  # one of them
            theirs = np.linalg.solve(G, pin.aba(model, data, x, v, np.linalg.solve(G.T, tau)) - drift)
            assert relative_error(back, theirs) < 1e-10
        pin.framesForwardKinematics(model, data, x)
        poses = rne.forward_kinematics(robot, q)
        for link in robot.link_names:
            placed = data.oMf[model.getFrameId(link, pin.FrameType.BODY)]
            assert relative_error(poses[link], placed.homogeneous) < TOLERANCE
