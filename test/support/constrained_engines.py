"""The same mechanisms in Pinocchio and in MuJoCo, whose constrained dynamics are checked against.

Both are built from the description (`KinematicTree`), link by link, not from our model arrays. A loop becomes what an
engine offers: points held together (Pinocchio's CONTACT_3D, MuJoCo's connect) or whole frames (CONTACT_6D, weld). A
hinge is two points on its axis; in a planar mechanism a pin is one point, whose third direction is redundant. Loops
that neither can say (universal, cylindrical, ...) are written with the Jacobians of MuJoCo's sites.
"""

from __future__ import annotations

from dataclasses import replace
from xml.sax.saxutils import quoteattr

import pytest

pytest.importorskip("pinocchio", reason="the oracle is Pinocchio: rosdep, or pip install '.[test]'")
pytest.importorskip("mujoco", reason="the oracle is MuJoCo: pip install '.[test]'")

import mujoco
import numpy as np
import pinocchio as pin
from support.multipliers import Closed, solve_kkt, torques

from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.layout import MASS
from rne_dynamics.model.mechanism import Loop, LoopFrame, LoopKind, Mechanism
from rne_dynamics.model.tree import JointKind

#: Distance of the two points on a hinge's axis, m.
APART = 0.1


def expressible(mechanism: Mechanism) -> bool:
    """Whether points and welds can say every loop; a pin only where the mechanism stays in its plane anyhow."""
    if mechanism.robot.has_mimic or any(holds(loop) is None for loop in mechanism.loops):
        return False
    pins = [loop for loop in mechanism.loops if not loop.blocked[2]]
    points = tuple(Loop.of_kind(loop.name, LoopKind.SPHERICAL, loop.a, loop.b) if loop in pins else loop
                   for loop in mechanism.loops)  # fmt: skip
    ranks = [
        np.linalg.matrix_rank(Closed(replace(mechanism, loops=loops)).K(mechanism.posture), rtol=1e-9)
        for loops in (mechanism.loops, points)
    ]
    return not pins or ranks[0] == ranks[1]


def in_mujoco(mechanism: Mechanism) -> bool:
    """Whether it can be built here for MuJoCo: no moving body without mass, no particle, no mimic joint."""
    inertias = [link.inertia for link in mechanism.robot.tree.links if link.inertia is not None and link.inertia.mass]
    moments = [np.linalg.eigvalsh(inertia.inertia)[0] for inertia in inertias]
    massive = mechanism.robot.parameters[:, MASS].all()
    return bool(massive and min(moments) > 1e-12 and not mechanism.robot.has_mimic)


def holds(loop: Loop) -> tuple[np.ndarray, ...] | None:
    """Points on frame B that are held on frame A, in the frames' axes; none at all for a weld."""
    blocked = tuple(loop.blocked)
    points = {
        LoopKind.WELD: (),
        LoopKind.SPHERICAL: (np.zeros(3),),
        LoopKind.PLANAR_PIN: (np.zeros(3),),
        LoopKind.REVOLUTE: (np.zeros(3), np.array([0.0, 0.0, APART])),
    }
    for kind, where in points.items():
        if blocked == tuple(direction in kind.value for direction in ("x", "y", "z", "rx", "ry", "rz")):
            return where
    return None


class ConstrainedPinocchio:
    """Pinocchio's `constraintDynamics`; no Baumgarte terms, the smallest proximal parameter that converges."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        tree = mechanism.robot.tree
        model = pin.Model()
        model.gravity.linear = mechanism.gravity
        links = {tree.root: (0, pin.SE3.Identity())}
        order = []
        for joint in tree.depth_first:
            parent, placement = links[joint.parent]
            placement = placement * pin.SE3(joint.rotation, joint.position)
            assert joint.mimic is None
            if joint.kind is JointKind.FIXED:
                links[joint.child] = parent, placement
            else:
                slides = joint.kind is JointKind.PRISMATIC
                kind = pin.JointModelPrismaticUnaligned if slides else pin.JointModelRevoluteUnaligned
                k = model.addJoint(parent, kind(*joint.axis), placement, joint.name)
                links[joint.child] = k, pin.SE3.Identity()
                order.append(joint)
            parent, placement = links[joint.child]
            inertia = tree.link(joint.child).inertia or Inertia()
            if inertia.mass > 0.0:
                model.appendBodyToJoint(parent, pin.Inertia(inertia.mass, inertia.com, inertia.inertia), placement)
        rotors = np.zeros(model.nv)
        for joint in order:
            rotors[model.joints[model.getJointId(joint.name)].idx_v] = joint.rotor_inertia
        model.armature = rotors
        self.model, self.data = model, model.createData()
        #: place of our coordinates among Pinocchio's
        self.places = np.array([model.joints[model.getJointId(n)].idx_v for n in mechanism.robot.joint_names])
        self.loops = pin.StdVec_RigidConstraintModel()
        for loop in mechanism.loops:
            ends = [(links[f.link][0], links[f.link][1] * pin.SE3(f.rotation, f.position)) for f in (loop.a, loop.b)]
            points = holds(loop)
            assert points is not None
            for shift in points or (np.zeros(3),):
                kind = pin.ContactType.CONTACT_3D if points else pin.ContactType.CONTACT_6D
                at = pin.SE3(np.eye(3), shift)
                (a, placed_a), (b, placed_b) = ends
                self.loops.append(pin.RigidConstraintModel(kind, model, a, placed_a * at, b, placed_b * at, pin.LOCAL))
        self.loop_data = pin.StdVec_RigidConstraintData()
        for item in self.loops:
            self.loop_data.append(item.createData())
        taken = (self.loops, self.loop_data) if int(pin.__version__.split(".")[0]) >= 4 else (self.loops,)
        pin.initConstraintDynamics(self.model, self.data, *taken)

    def _theirs(self, x: np.ndarray) -> np.ndarray:
        out = np.zeros(self.model.nv)
        out[self.places] = x
        return out

    def forward(self, x: np.ndarray, xd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Accelerations of all joints, from Pinocchio's own solver."""
        efforts = np.zeros(len(x))
        efforts[self.mechanism.actuated] = tau
        state = self._theirs(x), self._theirs(xd), self._theirs(efforts)
        settings = pin.ProximalSettings(1e-15, 1e-15, 1e-10, 200)
        xdd = pin.constraintDynamics(self.model, self.data, *state, self.loops, self.loop_data, settings)
        out: np.ndarray = np.array(xdd)[self.places]
        return out

    def inverse(self, x: np.ndarray, xd: np.ndarray, xdd: np.ndarray) -> np.ndarray:
        """Torques of the actuated joints, from Pinocchio's inverse dynamics and constraint Jacobian."""
        state = self._theirs(x), self._theirs(xd), self._theirs(xdd)
        efforts = np.array(pin.rnea(self.model, self.data, *state))[self.places]
        self.forward(x, xd, np.zeros(self.mechanism.n))  # which places the constraints' frames
        pin.computeJointJacobians(self.model, self.data, state[0])
        K = np.array(pin.getConstraintsJacobian(self.model, self.data, self.loops, self.loop_data))
        return torques(self.mechanism, K[:, self.places], efforts)


class ConstrainedMujoco:
    """MuJoCo's inertia, bias and constraint Jacobian; and its own soft solver, with the stiffest settings it takes."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism, self.exact = mechanism, expressible(mechanism)
        self.model = mujoco.MjModel.from_xml_string(mjcf(mechanism, self.exact))
        self.data = mujoco.MjData(self.model)
        names = mechanism.robot.joint_names
        self.places = np.array([self.model.joint(name).dofadr[0] for name in names])

    def _place(self, x: np.ndarray, xd: np.ndarray) -> None:
        self.data.qpos[self.places] = x
        self.data.qvel[self.places] = xd
        mujoco.mj_forward(self.model, self.data)

    def K(self, x: np.ndarray) -> np.ndarray:
        self._place(x, np.zeros(len(x)))
        if not self.exact:
            return np.vstack([self._rows(loop) for loop in self.mechanism.loops])[:, self.places]
        return self.data.efc_J.reshape(self.data.nefc, self.model.nv)[:, self.places].copy()

    def _rows(self, loop: Loop) -> np.ndarray:
        """A loop's rows from MuJoCo's poses and Jacobians of its two frames."""
        sites = [self.model.site(f"{loop.name}/0{side}").id for side in "ab"]
        A, B = (self.data.site_xmat[k].reshape(3, 3) for k in sites)
        (J_a, T_a), (J_b, T_b) = (self._site_jacobian(k) for k in sites)
        # the point of A's link that is at B's origin
        J_a = J_a + np.cross(T_a, self.data.site_xpos[sites[1]] - self.data.site_xpos[sites[0]], axis=0)
        points, turns = A.T @ (J_b - J_a), T_b - T_a
        blocked = loop.blocked[3:]
        pairs: list[np.ndarray] = []
        if blocked.all():
            pairs = [*A.T]
        elif blocked.sum() == 2:
            free = int(np.flatnonzero(~blocked)[0])
            pairs = [np.cross(B[:, free], A[:, k]) for k in range(3) if k != free]
        elif blocked.any():
            k = int(np.flatnonzero(blocked)[0])
            pairs = [np.cross(B[:, (k + 1) % 3], A[:, (k + 2) % 3])]
        return np.vstack([points[loop.blocked[:3]], *(e @ turns for e in pairs)])

    def _site_jacobian(self, site: int) -> tuple[np.ndarray, np.ndarray]:
        J, T = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        mujoco.mj_jacSite(self.model, self.data, J, T, site)
        return J, T

    def drift(self, x: np.ndarray, xd: np.ndarray) -> np.ndarray:
        """K̇ ẋ by eighth-order differences along the motion, which MuJoCo itself leaves out."""
        h = 0.02 / max(np.abs(xd).max(), 1e-6)
        weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
        steps = ((k + 1, w) for k, w in enumerate(weights))
        rate = sum(w * (self.K(x + k * h * xd) - self.K(x - k * h * xd)) for k, w in steps) / h
        return np.asarray(rate) @ xd

    def terms(self, x: np.ndarray, xd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mass matrix and bias of the open tree."""
        self._place(x, xd)
        M = np.zeros((self.model.nv, self.model.nv))
        for column, unit in zip(M, np.eye(self.model.nv), strict=True):
            mujoco.mj_mulM(self.model, self.data, column, unit)
        return M[np.ix_(self.places, self.places)], self.data.qfrc_bias[self.places].copy()

    def forward(self, x: np.ndarray, xd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Accelerations of all joints, MuJoCo's terms solved exactly."""
        M, bias = self.terms(x, xd)
        efforts = -bias
        efforts[self.mechanism.actuated] += tau
        return solve_kkt(M, self.K(x), efforts, self.drift(x, xd))

    def inverse(self, x: np.ndarray, xd: np.ndarray, xdd: np.ndarray) -> np.ndarray:
        """Torques of the actuated joints, from MuJoCo's terms."""
        M, bias = self.terms(x, xd)
        return torques(self.mechanism, self.K(x), M @ xdd + bias)

    def soft_forward(self, x: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Accelerations from rest by MuJoCo's own solver."""
        self.data.qfrc_applied[:] = 0.0
        self.data.qfrc_applied[self.places[self.mechanism.actuated]] = tau
        self._place(x, np.zeros(len(x)))
        out: np.ndarray = self.data.qacc[self.places].copy()
        self.data.qfrc_applied[:] = 0.0
        return out


def mjcf(mechanism: Mechanism, equalities_too: bool) -> str:
    """The mechanism as MuJoCo reads it, with its loops' frames as sites, and where asked, held together."""
    tree = mechanism.robot.tree
    children: dict[str, list] = {}
    for joint in tree.joints:
        children.setdefault(joint.parent, []).append(joint)

    def body(joint) -> str:
        assert joint.mimic is None
        inertia = tree.link(joint.child).inertia or Inertia()
        parts = []
        if joint.kind is not JointKind.FIXED:
            kind = "slide" if joint.kind is JointKind.PRISMATIC else "hinge"
            parts.append(
                f"<joint name={quoteattr(joint.name)} type='{kind}' axis='{numbers(joint.axis)}' "
                f"armature='{joint.rotor_inertia!r}'/>"
            )
        if inertia.mass > 0.0:
            full = inertia.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
            parts.append(
                f"<inertial mass='{inertia.mass!r}' pos='{numbers(inertia.com)}' fullinertia='{numbers(full)}'/>"
            )
        parts += [f"<site name={quoteattr(name)} {where}/>" for name, where in sites.get(joint.child, ())]
        parts += [body(child) for child in children.get(joint.child, ())]
        place = f"pos='{numbers(joint.position)}' {attitude(joint.rotation)}"
        return f"<body name={quoteattr(joint.child)} {place}>{''.join(parts)}</body>"

    sites: dict[str, list[tuple[str, str]]] = {}
    equalities = []
    for loop in mechanism.loops:
        points = holds(loop) if equalities_too else None
        for k, shift in enumerate(points or (np.zeros(3),)):
            ends = []
            for side, frame in (("a", loop.a), ("b", loop.b)):
                name = f"{loop.name}/{k}{side}"
                sites.setdefault(frame.link, []).append((name, placed(frame, shift)))
                ends.append(name)
            if not equalities_too:
                continue
            kind = "connect" if points else "weld"
            # the stiffest that MuJoCo takes: impedance 0.9999, so its regularisation is 1e-4 of the constraint's own
            equalities.append(
                f"<{kind} site1={quoteattr(ends[0])} site2={quoteattr(ends[1])} "
                "solimp='0.9999 0.9999 0.001' solref='-1e4 -200'/>"
            )
    root = tree.root
    top = "".join(f"<site name={quoteattr(name)} {where}/>" for name, where in sites.get(root, ()))
    top += "".join(body(joint) for joint in children.get(root, ()))
    return (
        f"<mujoco><compiler angle='radian' inertiafromgeom='false' boundmass='0' boundinertia='0' "
        "balanceinertia='false'/>"
        f"<option gravity='{numbers(mechanism.gravity)}' tolerance='1e-15' iterations='200' jacobian='dense'>"
        "<flag contact='disable' limit='disable'/></option>"
        f"<worldbody>{top}</worldbody><equality>{''.join(equalities)}</equality></mujoco>"
    )


def placed(frame: LoopFrame, shift: np.ndarray) -> str:
    """Place and attitude of a point given in a loop frame's axes."""
    return f"pos='{numbers(frame.position + frame.rotation @ shift)}' {attitude(frame.rotation)}"


def attitude(R: np.ndarray) -> str:
    """A rotation as MuJoCo reads it without loss: its quaternion w x y z."""
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(R).ravel())
    return f"quat='{numbers(quaternion)}'"


def numbers(values) -> str:
    return " ".join(repr(float(v)) for v in values)
