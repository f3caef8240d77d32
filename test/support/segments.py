"""Flexible links cut into rigid segments with springs, the alternative that document 003 names (section 6).

A beam of length L in N parts of h = L/N becomes N + 1 rigid segments, the first and the last of half the length, with a
spring in the middle of every part that has its compliance: 1/k = ∫ dx/EI. This is the midpoint rule for the curvature,
so frequencies, deflections and paths in one plane have an error of order h². If a beam bends in both planes, its
universal joints also roll, by order h, which extrapolation removes. The segments have the beam's mass distribution and
the rotary inertia of its sections in bending, unlike the modes. Bending angles may be large, and spin stiffens the beam
without further terms.

The chain is an ordinary robot of rigid links; the springs' torques are added outside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.derivatives.inverse_derivatives import inverse_dynamics_derivatives
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics
from rne_dynamics.flexible.linearised import linearised
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.dice import random_configuration
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.flexible.beam import Beam, gauss
from rne_dynamics.model.flexible.beam_modes import BeamField
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.inertia import Array, Inertia, skew
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink

_ITERATIONS = 50
#: Largest unbalanced torque of a settled chain, relative to the springs'.
_BALANCED = 1e-11


@dataclass(frozen=True, eq=False)
class SegmentedArm:
    """An arm whose flexible links are chains of rigid segments."""

    #: The chain; n coordinates.
    robot: RobotModel
    #: Of the springs, N·m/rad; zero for the arm's own joints; shape (n,).
    stiffness: Array
    #: Indices of the arm's own joints, in the order of `FlexibleArm.joint_names`, and of the springs.
    joints: NDArray[np.int64]
    springs: NDArray[np.int64]
    #: The last segment of each flexible link, and the position of the link's tip in it, m.
    tips: dict[str, tuple[str, Array]]

    def posture(self, q: ArrayLike) -> Array:
        """All coordinates for the arm's joints (…, joints), its springs at zero; shape (…, n)."""
        own = np.asarray(q, dtype=np.float64)
        out = np.zeros((*own.shape[:-1], self.robot.n))
        out[..., self.joints] = own
        return out


def segmented(arm: FlexibleArm, segments: int) -> SegmentedArm:
    """The arm with `segments` springs in each flexible link for each direction that has modes.

    `arm`: the arm, whose flexible links are beams; its damping is ignored. `segments`: N, at least 1.
    """
    cuts = {link.link: _Cut(link, segments) for link in arm.flexible_links if link.modes}
    links: list[TreeLink] = []
    joints: list[TreeJoint] = []
    stiffness: dict[str, float] = {}
    for part in arm.robot.tree.links:
        cut = cuts.get(part.name)
        if cut is None:
            links.append(part)
            continue
        links.append(TreeLink(part.name, cut.root_inertia(part.inertia or Inertia())))
        for k in range(segments):
            cut.add(k, links, joints, stiffness)
    for joint in arm.robot.tree.joints:
        cut = cuts.get(joint.parent)
        joints.append(joint if cut is None else cut.moved(joint))
    robot = assemble(KinematicTree(f"{arm.name}_segments", tuple(links), tuple(joints)), gravity=arm.gravity)
    soft = np.array([stiffness.get(name, 0.0) for name in robot.joint_names])
    own = np.array([robot.joint_index(name) for name in arm.joint_names], dtype=np.int64)
    springs = np.array([i for i, name in enumerate(robot.joint_names) if name in stiffness], dtype=np.int64)
    return SegmentedArm(robot, soft, own, springs, {name: cut.tip for name, cut in cuts.items()})


def settled(chain: SegmentedArm, q: ArrayLike, qd: ArrayLike | None = None) -> Array:
    """All coordinates in static balance, with the joints held or at constant velocity; shape (n,).

    `q`, `qd`: the arm's own joints, shape (joints,); at rest if no velocity is given.
    """
    free, at = chain.springs, chain.posture(q)
    rates, rest = _steady(chain, qd), np.zeros(chain.robot.n)
    for _ in range(_ITERATIONS):
        springs = (chain.stiffness * at)[free]
        loads = inverse_dynamics(chain.robot, at, rates, rest)[free]
        if np.abs(springs + loads).max() <= _BALANCED * max(np.abs(springs).max(), np.abs(loads).max()):
            return at
        slope = inverse_dynamics_derivatives(chain.robot, at, rates, rest).q[np.ix_(free, free)]
        at[free] -= np.linalg.solve(slope + np.diag(chain.stiffness[free]), springs + loads)
    raise AssertionError(f"chain {chain.robot.name!r} has no balance at q = {np.asarray(q).tolist()}")


def held_frequencies(chain: SegmentedArm, q: ArrayLike, qd: ArrayLike | None = None) -> Array:
    """Natural frequencies about the balance, joints held or at constant velocity, rad/s, ascending; (springs,).

    Parameters as for `settled`. Gyroscopic forces of turning joints are neglected: they couple a straight
    chain's springs only if two of them turn about different axes perpendicular to the spin.
    """
    from scipy.linalg import eigh

    free, rates = np.ix_(chain.springs, chain.springs), _steady(chain, qd)
    at = settled(chain, q, qd)
    K = inverse_dynamics_derivatives(chain.robot, at, rates, np.zeros(chain.robot.n)).q[free]
    K = 0.5 * (K + K.T) + np.diag(chain.stiffness[chain.springs])
    squares = eigh(K, mass_matrix(chain.robot, at)[free], eigvals_only=True)
    return np.asarray(np.sign(squares) * np.sqrt(np.abs(squares)))


def _steady(chain: SegmentedArm, qd: ArrayLike | None) -> Array:
    return chain.posture(np.zeros(len(chain.joints)) if qd is None else qd)


class _Cut:
    """One flexible link and its segments: the link's own name for the first, then ``link/1`` to ``link/N``."""

    def __init__(self, link: ModalLink, segments: int) -> None:
        assert isinstance(link.field, BeamField)
        self.link, self.beam, self.segments = link, link.field.beam, segments
        h = self.beam.length / segments
        self.springs = h * (np.arange(segments) + 0.5)
        self.ends = np.concatenate([[0.0], self.springs, [self.beam.length]])
        axes = self.beam.rotation
        # a turn about z bends along y, one about −y along z
        turns = (("y", "EI_y", axes[:, 2]), ("z", "EI_z", -axes[:, 1]), ("torsion", "GJ", axes[:, 0]))
        self.turns = [turn for turn, count in zip(turns, self.beam.modes, strict=True) if count]

    @property
    def tip(self) -> tuple[str, Array]:
        """The last segment and the position of the link's tip in it."""
        return self._name(self.segments), self.link.tip - self._origin(self.segments)

    def root_inertia(self, whole: Inertia) -> Inertia:
        """Inertia of the first segment: the link without its beam, and the first half part of the beam."""
        first, part = _piece(self.beam, *self.ends[:2]), self.link.inertia
        mass = whole.mass - part.mass + first.mass
        com = (whole.first_moment - part.first_moment + first.first_moment) / mass
        about = whole.about_origin - part.about_origin + first.about_origin
        centred = about + mass * skew(com) @ skew(com)
        return Inertia(mass, com, 0.5 * (centred + centred.T))

    def add(self, k: int, links: list[TreeLink], joints: list[TreeJoint], stiffness: dict[str, float]) -> None:
        """Append the spring in part k and the segment after it."""
        parent, where = self._name(k), self._origin(k + 1) - self._origin(k)
        h, x = self.beam.length / self.segments, self.springs[k]
        rule = gauss(_within(self.beam, x - 0.5 * h, x + 0.5 * h), 8)
        for i, (kind, name, axis) in enumerate(self.turns):
            last = i == len(self.turns) - 1
            child = self._name(k + 1) if last else f"{self._name(k + 1)}/{kind}"
            links.append(TreeLink(child, self._segment_inertia(k + 1) if last else None))
            spring = f"{self._name(k + 1)}/{kind}_spring"
            joints.append(TreeJoint(spring, JointKind.REVOLUTE, parent, child, position=where, axis=axis))
            stiffness[spring] = 1.0 / float(rule.w @ (1.0 / self.beam.along(name, rule.x)))
            parent, where = child, np.zeros(3)

    def _segment_inertia(self, k: int) -> Inertia:
        return _piece(self.beam, *self.ends[k : k + 2]).moved(np.eye(3), -self._origin(k))

    def moved(self, joint: TreeJoint) -> TreeJoint:
        """A joint of the link, moved to the segment at its position along the beam."""
        x = (joint.position - self.beam.origin) @ self.beam.axis
        k = int((self.springs < x).sum())
        return replace(joint, parent=self._name(k), position=joint.position - self._origin(k))

    def _name(self, k: int) -> str:
        return self.link.link if k == 0 else f"{self.link.link}/{k}"

    def _origin(self, k: int) -> Array:
        """Origin of segment k in the link's frame: at the spring before it."""
        return np.zeros(3) if k == 0 else self.beam.origin + self.springs[k - 1] * self.beam.axis


def _within(beam: Beam, a: float, b: float) -> Array:
    inner = beam.ends[(beam.ends > a) & (beam.ends < b)]
    return np.concatenate([[a], inner, [b]])


def _piece(beam: Beam, a: float, b: float) -> Inertia:
    """The straight beam between two distances from its root, in the link's frame."""
    rule = gauss(_within(beam, a, b), 4)
    dm, spread_y, spread_z = (rule.w * beam.along(name, rule.x) for name in ("mass_per_length", "spread_y", "spread_z"))
    mass = float(dm.sum())
    com = float(dm @ rule.x) / mass
    along = float(dm @ (rule.x - com) ** 2)
    y, z = float(spread_y.sum()), float(spread_z.sum())
    own = Inertia(mass, np.array([com, 0.0, 0.0]), np.diag([y + z, along + z, along + y]))
    return own.moved(beam.rotation, beam.origin)


def segment_frequencies(arm: FlexibleArm, count: int = 3, seed: int = 0) -> tuple[Array, Array]:
    """Lowest frequencies, rad/s, of the modes and, extrapolated, of infinitely many segments, in a random posture.

    The joints held; without gravity, whose component along a beam acts on the modes only with stiffening.
    """
    q = random_configuration(arm.robot, np.random.default_rng(seed), 1)[0]
    floating = FlexibleArm(assemble(arm.robot.tree, gravity=np.zeros(3)), arm.flexible_links)
    count = min(count, arm.modes)
    modal = linearised(floating, q, delta=np.zeros(arm.modes)).frequencies[:count]
    coarse, fine = (held_frequencies(segmented(floating, segments), q)[:count] for segments in (10, 20))
    return modal, (4.0 * fine - coarse) / 3.0  # the chains' error is of second order
