"""The pantograph of document 002 in closed form, and its equations (8)–(18) derived afresh.

In the plane that turns with the waist, r outward and z up, only two angles matter: α = q₂ of the upper links and
β = q₂ + q₃ of the forelinks, both from the horizontal; the plates stay level. With points of the plane as complex
numbers r + i z, every point of a link is at

    ρ + A exp(iα) + B exp(iβ),

ρ, A, B constant, and Lagrange's equations are a few lines.
"""

from __future__ import annotations

from cmath import exp
from dataclasses import dataclass, replace
from math import cos, sin

import numpy as np

from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.mechanism import Loop, LoopFrame, LoopKind, Mechanism
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink

G = 9.81
#: Axis of all joints but the waist's: the angles of the paper count upwards from the horizontal.
NORMAL = np.array([0.0, -1.0, 0.0])


@dataclass(frozen=True)
class Member:
    """A link: its mass centre's ρ, A, B and its moments along itself, across it in the plane, and about the normal.

    `turns` is "a" where it turns with α, "b" with β, "" where it stays level.
    """

    mass: float
    rho: complex
    A: complex
    B: complex
    turns: str
    along: float
    across: float
    normal: float


def efforts(members: list[Member], waist: float, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """Torques of joints 1, 2, 3; `waist` is the inertia of what only turns about the vertical, kg·m²."""
    a, b = q[1], q[1] + q[2]
    da, db = qd[1], qd[1] + qd[2]
    dda, ddb = qdd[1], qdd[1] + qdd[2]
    J, J_a, J_b = waist, 0.0, 0.0  # inertia about the vertical and its partial derivatives
    Maa = Mbb = ga = gb = 0.0
    Mab = 0j
    for k in members:
        A, B = k.A * exp(1j * a), k.B * exp(1j * b)
        r = (k.rho + A + B).real
        J += k.mass * r**2
        J_a -= 2.0 * k.mass * r * A.imag
        J_b -= 2.0 * k.mass * r * B.imag
        Maa += k.mass * abs(A) ** 2
        Mbb += k.mass * abs(B) ** 2
        Mab += k.mass * A.conjugate() * B
        ga += k.mass * G * A.real
        gb += k.mass * G * B.real
        if k.turns == "a":
            J += k.along * sin(a) ** 2 + k.across * cos(a) ** 2
            J_a += (k.along - k.across) * sin(2.0 * a)
            Maa += k.normal
        elif k.turns == "b":
            J += k.along * sin(b) ** 2 + k.across * cos(b) ** 2
            J_b += (k.along - k.across) * sin(2.0 * b)
            Mbb += k.normal
        else:
            J += k.across
    Qa = Maa * dda + Mab.real * ddb - Mab.imag * db**2 - 0.5 * J_a * qd[0] ** 2 + ga
    Qb = Mbb * ddb + Mab.real * dda + Mab.imag * da**2 - 0.5 * J_b * qd[0] ** 2 + gb
    return np.array([J * qdd[0] + (J_a * da + J_b * db) * qd[0], Qa + Qb, Qb])


def inertial(k: Member, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> tuple[np.ndarray, float]:
    """What a link needs in the plane: force (r, z), its weight carried, and moment about its mass centre's normal."""
    a, b = q[1], q[1] + q[2]
    A, B = k.A * exp(1j * a), k.B * exp(1j * b)
    da, db = qd[1], qd[1] + qd[2]
    dda, ddb = qdd[1], qdd[1] + qdd[2]
    moved = (1j * dda - da**2) * A + (1j * ddb - db**2) * B
    force = k.mass * np.array([moved.real - (k.rho + A + B).real * qd[0] ** 2, moved.imag + G])
    angle, rate = {"a": (a, dda), "b": (b, ddb), "": (0.0, 0.0)}[k.turns]
    # the gyroscopic moment about the normal of a body that the waist turns
    return force, k.normal * rate - (k.along - k.across) * sin(angle) * cos(angle) * qd[0] ** 2


def turned(angle: float, v: np.ndarray) -> np.ndarray:
    """A vector of the plane in axes turned by `angle`."""
    return np.array([cos(angle) * v[0] + sin(angle) * v[1], -sin(angle) * v[0] + cos(angle) * v[1]])


@dataclass(frozen=True)
class PaperResult:
    """Torques of joints 2 and 3, and the forces (r, z) that M exerts at N and B at D."""

    tau2: float
    tau3: float
    F_N: np.ndarray
    F_D: np.ndarray


@dataclass(frozen=True)
class Pantograph:
    """All that the equations need: upper and forelinks of length L1, plates of length L2 (table 1), level."""

    L1: float
    L2: float
    waist: float
    link2: Member
    B: Member
    A: Member
    link3: Member
    M: Member
    L: Member
    more: tuple[Member, ...] = ()
    load: tuple[Member, ...] = ()

    @property
    def members(self) -> list[Member]:
        return [self.link2, self.B, self.A, self.link3, self.M, self.L, *self.more, *self.load]

    def loaded(self, mass: float, out: float, up: float, about_vertical: float) -> Pantograph:
        """With a load on the wrist, its mass centre `out` and `up` from the middle of plate L.

        The plate does not turn in the plane, and so neither does the load: its own inertia matters to the waist alone.
        """
        load = Member(mass, out + 1j * up, self.L1, self.L1, "", 0.0, about_vertical, 0.0)
        return replace(self, load=(*self.load, load))

    def efforts(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Torques of joints 1, 2, 3."""
        return efforts(self.members, self.waist, q, qd, qdd)

    def by_the_paper(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> PaperResult:
        """Equations (8)–(10) for the first mechanism, and what follows alike from (11)–(16) for the second.

        The paper's frames: x of link M runs from the wrist back to N, x of link B from the elbow back to D, and the
        force F_N is what M exerts on the body after it, the plate's far end; so is F_D what B exerts on the base.
        (9)'s denominator, lost in the print, is L2 sin(q₂ + q₃): the parallelogram must not be flat.
        """
        L1, L2, a, b = self.L1, self.L2, q[1], q[1] + q[2]
        (F_M, n_M), (F_L, n_L), (F_3, n_3) = (inertial(k, q, qd, qdd) for k in (self.M, self.L, self.link3))
        Fc_M, Fc_L, Fc_3 = turned(np.pi + b, F_M), F_L, turned(b, F_3)
        Fi_M = n_M + (L1 - self.M.B) * Fc_M[1]
        Fi_L = n_L + (self.L.rho + L2 / 2) * Fc_L[1]
        Fi_3 = n_3 + self.link3.B * Fc_3[1]
        for k in self.load:  # the terms more in (3) and (4)
            force, _ = inertial(k, q, qd, qdd)
            arm = k.rho + L2 / 2
            Fc_L = Fc_L + force
            Fi_L += arm.real * force[1] - arm.imag * force[0]
        F_Ny = -Fi_M / L1  # (8)
        F_Nx = (
            Fi_L - L2 * sin(b) * Fc_M[0] + L2 * cos(b) * Fi_M / L1 - L2 * cos(b) * Fc_M[1]
        ) / (L2 * sin(b))  # (9)  # fmt: skip
        tau3 = Fi_3 + Fi_M - Fc_M[1] * L1 - Fc_L[0] * L1 * sin(b) + cos(b) * L1 * Fc_L[1]  # (10)
        F_N = turned(-np.pi - b, np.array([F_Nx, F_Ny]))
        (F_B, n_B), (F_A, n_A), (F_2, n_2) = (inertial(k, q, qd, qdd) for k in (self.B, self.A, self.link2))
        Fc_B = turned(np.pi + a, F_B)
        Fi_B = n_B + (L1 - self.B.A) * Fc_B[1]
        Fi_A = n_A + (self.A.rho + L2 / 2) * F_A[1]
        F_Dy = -Fi_B / L1  # (12) with N_B = 0; N lies at B's origin
        F_Dx = (
            Fi_A - L2 * sin(a) * Fc_B[0] + L2 * cos(a) * Fi_B / L1 - L2 * cos(a) * Fc_B[1] - L2 * F_N[1]
        ) / (L2 * sin(a))  # (14) with N_A = 0  # fmt: skip
        F_D = turned(-np.pi - a, np.array([F_Dx, F_Dy]))
        # (16): F_N cancels, for what it takes from the plate it gives to the forelink
        at_elbow = turned(a, F_B + F_A + F_M + Fc_L + F_3)
        tau2 = n_2 + self.link2.A * turned(a, F_2)[1] + tau3 + Fi_B + L1 * at_elbow[1]
        return PaperResult(tau2, tau3, F_N, F_D)


def rod(mass: float, length: float) -> Inertia:
    """A link along its x axis, not slender and not round."""
    about = mass * np.diag([8e-4, 5e-4 + length**2 / 12.0, 2e-4 + length**2 / 12.0])
    return Inertia(mass, np.array([0.5 * length, 0.0, 0.0]), about)


def cut_as_the_paper(L0: float = 0.5, L1: float = 0.6, L2: float = 0.2) -> tuple[Mechanism, Pantograph]:
    """The mechanism of figures 2 and 3, cut at N and D, and its closed form.

    Chains as in table 1: joints 1, 2, 3, L, M with N at their end, and 2, A, B with D at their end.
    """
    inertias = {
        "link1": Inertia(6.0, np.array([0.0, 0.0, L0 / 2.0]), np.diag([0.2, 0.2, 0.05])),
        "link2": rod(3.0, L1), "A": rod(1.0, L2), "B": rod(1.4, L1),
        "link3": rod(2.5, L1), "L": rod(0.8, L2), "M": rod(1.2, L1),
    }  # fmt: skip
    places = (
        ("1", "base", "link1", (0.0, 0.0, 0.0)),
        ("2", "link1", "link2", (-L2 / 2.0, 0.0, L0)),
        ("A", "link2", "A", (L1, 0.0, 0.0)),
        ("B", "A", "B", (L2, 0.0, 0.0)),
        ("3", "link2", "link3", (L1, 0.0, 0.0)),
        ("L", "link3", "L", (L1, 0.0, 0.0)),
        ("M", "L", "M", (L2, 0.0, 0.0)),
    )
    joints = tuple(
        TreeJoint(name, JointKind.REVOLUTE, parent, child, position=np.array(where),
                  axis=np.array([0.0, 0.0, 1.0]) if name == "1" else NORMAL)
        for name, parent, child, where in places
    )  # fmt: skip
    links = (TreeLink("base"), *(TreeLink(name, inertia) for name, inertia in inertias.items()))
    robot = assemble(KinematicTree("pantograph_of_the_paper", links, joints))
    upright = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # columns r, z and the normal

    def pin(name: str, a: str, at: tuple[float, float, float], b: str) -> Loop:
        ends = LoopFrame(a, upright, np.array(at)), LoopFrame(b, upright, np.array([L1, 0.0, 0.0]))
        return Loop.of_kind(name, LoopKind.PLANAR_PIN, *ends)

    loops = pin("N", "A", (L2, 0.0, 0.0), "M"), pin("D", "link1", (L2 / 2.0, 0.0, L0), "B")
    mechanism = Mechanism(robot, loops, ("1", "2", "3"), assembled_angles(np.array([0.0, -1.2, -0.2])))
    half = L1 / 2.0

    def member(name: str, rho: complex, A: complex, B: complex, turns: str) -> Member:
        along, normal, across = (inertias[name].inertia[k, k] for k in (0, 1, 2))
        return Member(inertias[name].mass, rho, A, B, turns, along, across, normal)

    return mechanism, Pantograph(
        L1,
        L2,
        inertias["link1"].inertia[2, 2],
        member("link2", -L2 / 2.0, half, 0.0, "a"),
        member("B", L2 / 2.0, half, 0.0, "a"),
        member("A", 0.0, L1, 0.0, ""),
        member("link3", -L2 / 2.0, L1, half, "b"),
        member("M", L2 / 2.0, L1, half, "b"),
        member("L", 0.0, L1, L1, ""),
    )


def assembled_angles(q: np.ndarray) -> np.ndarray:
    """Joints 1, 2, A, B, 3, L, M by the paper's constraint equations (7) and (16)."""
    a, b = q[1], q[1] + q[2]
    return np.array([q[0], q[1], -a, np.pi + a, q[2], -b, np.pi + b])


def closed_form_of(mechanism: Mechanism) -> Pantograph:
    """The closed form with the numbers of the pantograph that ships, read from its URDF's links and joints.

    Besides the paper's links there is bar C, parallel to link 2, from 0.08 m above the shoulder's middle.
    """
    tree = mechanism.robot.tree
    L1, L2 = tree.joint("joint3").position[0], tree.joint("jointM").position[0]
    assert tree.joint("jointL").position[0] == tree.joint("jointA").position[0] == L1
    assert tree.joint("jointB").position[0] == L2

    def member(name: str, rho: complex, A: float, B: float, turns: str) -> Member:
        """`rho`, A and B of the link's origin; `turns` with a minus where it points back along -e."""
        inertia = tree.link(name).inertia
        assert inertia is not None
        assert not inertia.com[1:].any()
        assert np.array_equal(inertia.inertia, np.diag(np.diag(inertia.inertia)))
        along, across, normal = np.diag(inertia.inertia)
        c = inertia.com[0] * (-1.0 if turns.startswith("-") else 1.0)
        turns = turns.lstrip("-")
        place = rho + c * (turns == ""), A + c * (turns == "a"), B + c * (turns == "b")
        return Member(inertia.mass, *place, turns, along, across, normal)

    waist = tree.link("link1").inertia
    assert waist is not None
    shoulder = tree.joint("jointC").position[2] * 1j
    return Pantograph(
        L1,
        L2,
        waist.inertia[2, 2],
        member("link2", -L2 / 2.0, 0.0, 0.0, "a"),
        member("linkB", L2 / 2.0, L1, 0.0, "-a"),
        member("linkA", -L2 / 2.0, L1, 0.0, ""),
        member("link3", -L2 / 2.0, L1, 0.0, "b"),
        member("linkM", L2 / 2.0, L1, L1, "-b"),
        member("linkL", -L2 / 2.0, L1, L1, ""),
        (member("linkC", shoulder, 0.0, 0.0, "a"),),
    )
