"""Closed-form mechanical systems: a tree to compute with, and the equations of motion to compute against.

Every system has `tree()` and `efforts(q, qd, qdd)`, shapes (n,). Gravity is 9.81 m/s² along −z.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np

from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import Friction, JointKind, KinematicTree, Mimic, TreeJoint, TreeLink, rotation_about

G = 9.81
X, Y, Z = np.eye(3)


@dataclass(frozen=True)
class Pendulum:
    """A body swinging about a horizontal axis, q = 0 pointing along x, with a geared rotor and friction."""

    mass: float = 2.0
    c: float = 0.3
    inertia: float = 0.05
    rotor: float = 0.4
    viscous: float = 0.7
    coulomb: float = 1.1

    def tree(self) -> KinematicTree:
        body = Inertia(self.mass, self.c * X, np.diag([0.01, self.inertia, 0.05]))
        joint = TreeJoint(
            "swing", JointKind.REVOLUTE, "base", "bob", axis=-Y, rotor_inertia=self.rotor,
            friction=Friction(self.viscous, self.coulomb, self.coulomb),
        )  # fmt: skip
        return KinematicTree("pendulum", (TreeLink("base"), TreeLink("bob", body)), (joint,))

    def efforts(self, q, qd, qdd):
        J = self.inertia + self.mass * self.c**2 + self.rotor
        return np.array([J * qdd[0] + self.mass * G * self.c * cos(q[0])])


@dataclass(frozen=True)
class PlanarTwoLink:
    """The two-link arm of every textbook, in a vertical plane; angles from x, the second relative."""

    m1: float = 3.0
    m2: float = 1.7
    l1: float = 0.5
    c1: float = 0.2
    c2: float = 0.25
    I1: float = 0.06
    I2: float = 0.03

    def tree(self) -> KinematicTree:
        upper = Inertia(self.m1, self.c1 * X, np.diag([0.01, self.I1, 0.06]))
        lower = Inertia(self.m2, self.c2 * X, np.diag([0.01, self.I2, 0.03]))
        joints = (
            TreeJoint("shoulder", JointKind.REVOLUTE, "base", "upper", axis=-Y),
            TreeJoint("elbow", JointKind.REVOLUTE, "upper", "lower", position=self.l1 * X, axis=-Y),
        )
        return KinematicTree("two_link", (TreeLink("base"), TreeLink("upper", upper), TreeLink("lower", lower)), joints)

    def mass_matrix(self, q):
        k = self.m2 * self.l1 * self.c2 * cos(q[1])
        M22 = self.I2 + self.m2 * self.c2**2
        M11 = self.I1 + self.m1 * self.c1**2 + M22 + self.m2 * self.l1**2 + 2.0 * k
        return np.array([[M11, M22 + k], [M22 + k, M22]])

    def efforts(self, q, qd, qdd):
        h = self.m2 * self.l1 * self.c2 * sin(q[1])
        coriolis = np.array([-h * qd[1] * (2.0 * qd[0] + qd[1]), h * qd[0] ** 2])
        g2 = self.m2 * self.c2 * G * cos(q[0] + q[1])
        g1 = (self.m1 * self.c1 + self.m2 * self.l1) * G * cos(q[0]) + g2
        return self.mass_matrix(q) @ qdd + coriolis + np.array([g1, g2])

    def efforts_on(self, q, qd, qdd, base, tip, force):
        """On a base that moves in the arm's plane, a force (x, z) in base axes pulling the lower link at x = tip.

        `base` is (a_x, a_z, Ω, Ω̇): the shoulder's acceleration in base axes and the base's turning, counted as the
        joints' is. A turning base is a faster first joint; an accelerated one feels as much gravity the other way.
        Gravity stays along −z of the base.
        """
        ax, az, spin, spin_rate = base
        efforts = self.efforts(q, qd + np.array([spin, 0.0]), qdd + np.array([spin_rate, 0.0]))
        a, b = q[0], q[0] + q[1]
        near, far = self.m1 * self.c1 + self.m2 * self.l1, self.m2 * self.c2
        pushed = ax * far * -sin(b) + az * far * cos(b)
        efforts = efforts + np.array([ax * near * -sin(a) + az * near * cos(a) + pushed, pushed])
        pulled = tip * (force[1] * cos(b) - force[0] * sin(b))
        return efforts - np.array([self.l1 * (force[1] * cos(a) - force[0] * sin(a)) + pulled, pulled])


@dataclass(frozen=True)
class GearedTwoLink:
    """`PlanarTwoLink` whose elbow is geared to the shoulder: q₂ = r q₁ + o; one coordinate."""

    arm: PlanarTwoLink = PlanarTwoLink()
    ratio: float = -1.6
    offset: float = 0.4

    def tree(self) -> KinematicTree:
        open_arm = self.arm.tree()
        elbow = open_arm.joints[1]
        geared = TreeJoint(
            elbow.name, elbow.kind, elbow.parent, elbow.child, position=elbow.position, axis=elbow.axis,
            mimic=Mimic("shoulder", self.ratio, self.offset),
        )  # fmt: skip
        return KinematicTree("geared", open_arm.links, (open_arm.joints[0], geared))

    def efforts(self, q, qd, qdd):
        gear = np.array([1.0, self.ratio])
        full = self.arm.efforts(gear * q[0] + np.array([0.0, self.offset]), gear * qd[0], gear * qdd[0])
        return np.array([gear @ full])


@dataclass(frozen=True)
class PolarArm:
    """A turntable about the vertical and a radial slide on it: the centrifugal and Coriolis terms by themselves."""

    inertia: float = 0.8
    mass: float = 2.5
    slide_inertia: float = 0.02

    def tree(self) -> KinematicTree:
        table = Inertia(4.0, np.zeros(3), np.diag([1.0, 1.0, self.inertia]))
        slider = Inertia(self.mass, np.zeros(3), np.diag([0.01, 0.02, self.slide_inertia]))
        joints = (
            TreeJoint("turn", JointKind.CONTINUOUS, "base", "table"),
            TreeJoint("reach", JointKind.PRISMATIC, "table", "slider", axis=X),
        )
        return KinematicTree("polar", (TreeLink("base"), TreeLink("table", table), TreeLink("slider", slider)), joints)

    def efforts(self, q, qd, qdd):
        r, rd, w = q[1], qd[1], qd[0]
        turn = (self.inertia + self.slide_inertia + self.mass * r**2) * qdd[0] + 2.0 * self.mass * r * rd * w
        return np.array([turn, self.mass * (qdd[1] - r * w**2)])


@dataclass(frozen=True)
class CartPole:
    """A cart on a rail along x carrying a pendulum, q₂ = 0 hanging down."""

    cart: float = 1.5
    pole: float = 0.4
    length: float = 0.6
    inertia: float = 0.012

    def tree(self) -> KinematicTree:
        bob = Inertia(self.pole, -self.length * Z, np.diag([0.01, self.inertia, 0.001]))
        joints = (
            TreeJoint("rail", JointKind.PRISMATIC, "base", "cart", axis=X),
            TreeJoint("pivot", JointKind.REVOLUTE, "cart", "pole", axis=-Y),
        )
        links = (TreeLink("base"), TreeLink("cart", Inertia(self.cart)), TreeLink("pole", bob))
        return KinematicTree("cart_pole", links, joints)

    def efforts(self, q, qd, qdd):
        ml = self.pole * self.length
        push = (self.cart + self.pole) * qdd[0] + ml * cos(q[1]) * qdd[1] - ml * sin(q[1]) * qd[1] ** 2
        swing = ml * cos(q[1]) * qdd[0] + (self.inertia + ml * self.length) * qdd[1] + ml * G * sin(q[1])
        return np.array([push, swing])


@dataclass(frozen=True)
class OffsetSpinner:
    """A tilted, eccentric body spinning about the vertical on a tilting yoke: gyroscopic coupling in closed form.

    Joint 1 turns about z by ψ, joint 2 about the turned x by θ; the body is a disc, axis z, at rest upright.
    """

    disc: float = 0.09
    diameter: float = 0.05

    def tree(self) -> KinematicTree:
        body = Inertia(1.0, np.zeros(3), np.diag([self.diameter, self.diameter, self.disc]))
        joints = (
            TreeJoint("spin", JointKind.CONTINUOUS, "base", "yoke"),
            TreeJoint("tilt", JointKind.REVOLUTE, "yoke", "disc", rotation=rotation_about(Z, pi), axis=-X),
        )
        return KinematicTree("spinner", (TreeLink("base"), TreeLink("yoke"), TreeLink("disc", body)), joints)

    def efforts(self, q, qd, qdd):
        A, D, s, c = self.disc, self.diameter, sin(q[1]), cos(q[1])
        spin = (A * c * c + D * s * s) * qdd[0] + 2.0 * (D - A) * s * c * qd[0] * qd[1]
        return np.array([spin, D * qdd[1] - (D - A) * s * c * qd[0] ** 2])


ALL = (Pendulum(), PlanarTwoLink(), GearedTwoLink(), PolarArm(), CartPole(), OffsetSpinner())
