"""Document 000 as it prints its recursion: 6 × 6 matrices, everything of link i in frame i − 1, equation by equation.

Frame i − 1 is fixed to link i − 1 with joint i along its z; frame i is fixed to link i at its distal joint. A link that
carries several others has a frame i for each of them. L is built whole and inverted; nothing is clever. Known slips are
corrected where a comment says so; those in `SLIPS` can be put back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rne_dynamics.model import layout
from rne_dynamics.model.robot import RobotModel

Array = np.ndarray
#: What the print has otherwise, and where: the sign of σ*'s lower row (2.1.13.2), A*σ* twice after (2.1.18), γ without
#: −J^a in the place of the reaction that θ̈ has taken (2.1.14).
SLIPS = ("sign of sigma*", "A* sigma* twice", "gamma without J^a")
z = np.array([0.0, 0.0, 1.0])
ONE, ZERO = np.eye(3), np.zeros((3, 3))


def tilde(v: Array) -> Array:
    """The skew symmetric matrix of v: tilde(v) u = v × u."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def rot_z(angle: float) -> Array:
    """Turn by an angle about z."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@dataclass(frozen=True)
class Link:
    """What never changes of a link: where its joint is on link i − 1, its mass, mass centre and inertia about that.

    `frame`, `place`: axes and origin of frame i − 1 in the moving frame of link i − 1, which is frame i − 2 moved by θ.
    `cg` and `inertia`, I_i of (2.1.5.1), in the moving frame of link i.
    """

    before: int
    rotational: bool
    frame: Array
    place: Array
    mass: float
    cg: Array
    inertia: Array
    Ja: float

    @property
    def Z(self) -> Array:
        """Coefficient of the unknown acceleration: Z of (2.1.7.2), Z' of (2.2.7)."""
        return np.eye(6)[5 if self.rotational else 2]

    def turn(self, theta: float) -> Array:
        """Axes of the moving frame of this link in frame i − 1."""
        return rot_z(theta) if self.rotational else ONE

    def travel(self, theta: float) -> Array:
        """Its origin there."""
        return np.zeros(3) if self.rotational else z * theta


def links_of(robot: RobotModel) -> list[Link]:
    """The links of an open robot on a fixed base, without joints that mimic others."""
    found = []
    for i in range(robot.bodies):
        row, kind = robot.parameters[i], robot.topology[i, layout.KIND]
        assert kind != layout.FLOATING
        assert robot.body_names[i] == robot.joint_names[robot.topology[i, layout.VELOCITY_INDEX]]
        mass, moment = row[layout.MASS], row[layout.MOMENT : layout.MOMENT + 3]
        cg = moment / mass if mass > 0.0 else np.zeros(3)
        about_joint = np.zeros((3, 3))
        about_joint[np.triu_indices(3)] = row[layout.INERTIA : layout.INERTIA + 6]
        about_joint += np.triu(about_joint, 1).T
        found.append(Link(
            int(robot.topology[i, layout.PARENT]), kind == layout.REVOLUTE,
            row[layout.ROTATION : layout.ROTATION + 9].reshape(3, 3), row[layout.PLACEMENT : layout.PLACEMENT + 3],
            mass, cg, about_joint + mass * tilde(cg) @ tilde(cg), row[layout.ROTOR],
        ))  # fmt: skip
    return found


@dataclass(frozen=True)
class Base:
    """Prescribed motion of link 1 in its own axes, and gravity there."""

    v_dot: Array
    omega: Array
    omega_dot: Array
    gravity: Array


@dataclass(frozen=True)
class Loads:
    """Forces and torques on every link, shape (links, 3).

    Control ones, f^c and n^c, act on link i at its proximal joint in frame i − 1 and reversed on link i − 1; external
    ones, F^E and N^E, at the mass centre in the moving frame of the link, weight not among them.
    """

    fc: Array
    nc: Array
    F: Array
    N: Array


class Step:
    """Quantities of link i in frame i − 1."""

    def __init__(self, link: Link, theta: float, rate: float, omega: Array, gravity: Array) -> None:
        self.turn, self.travel = link.turn(theta), link.travel(theta)
        self.omega_before, self.gravity, self.rate = omega, gravity, rate
        self.omega = omega + z * rate if link.rotational else omega  # (A.2.5)
        self.r = self.travel + self.turn @ link.cg
        self.J = self.turn @ link.inertia @ self.turn.T  # (2.1.5.1)


def distal(step: Step, child: Link) -> tuple[Array, Array]:
    """R_{i−1,i} and P*_i of the frame i that a child's joint is in."""
    return step.turn @ child.frame, step.travel + step.turn @ child.place


def P_matrix(P: Array) -> Array:
    """P of (2.1.13.3), whose transpose is printed; its lower left block is P̃."""
    return np.block([[ONE, ZERO], [tilde(P), ONE]])


def R_star(R: Array) -> Array:
    """(2.1.18)."""
    return np.block([[R, ZERO], [ZERO, R]])


def A_matrix(m: float, r: Array, J: Array) -> Array:
    """(2.1.7.4)."""
    return np.block([[m * ONE, -m * tilde(r)], [m * tilde(r), J - m * tilde(r) @ tilde(r)]])


def sigma_star(link: Link, s: Step, P: Array, printed: tuple[str, ...] = ()) -> Array:
    """σ* of (2.1.13.2), its lower row with the sign of (2.1.1), and σ*' of (2.2.6)."""
    if link.rotational:
        turning = np.cross(s.omega_before, z * s.rate) * (-1.0 if "sign of sigma*" in printed else 1.0)
        return np.concatenate([np.cross(s.omega, np.cross(s.omega, P)), turning])
    w = s.omega_before
    return np.concatenate([np.cross(w, np.cross(w, P)) + 2.0 * np.cross(w, z * s.rate), np.zeros(3)])


def betas(link: Link, s: Step) -> tuple[Array, Array]:
    """β and β* of (2.1.3.2) and (2.1.6.2), or β' and β*' of (2.2.1), with r* for the v* printed, and (2.2.2)."""
    w, turning = s.omega_before, np.cross(s.omega_before, z * s.rate)
    if link.rotational:
        beta = link.mass * (np.cross(s.omega, np.cross(s.omega, s.r)) + np.cross(turning, s.r))
        return beta, s.J @ turning + np.cross(s.omega, s.J @ s.omega)
    return link.mass * (np.cross(w, np.cross(w, s.r)) + 2.0 * turning), np.cross(w, s.J @ w)


def B_vector(i: int, links: list[Link], steps: list[Step], loads: Loads) -> Array:
    """(2.1.7.6) with the signs of (2.1.2), weight among the external forces; sums over the distal joints."""
    link, s = links[i], steps[i]
    beta, beta_star = betas(link, s)
    FE = s.turn @ loads.F[i] + link.mass * s.gravity
    force = beta - loads.fc[i] - FE
    Nt = s.turn @ loads.N[i] + np.cross(s.r, FE) + loads.nc[i]  # (2.1.5.3)
    for j, child in enumerate(links):
        if child.before == i:
            R, P = distal(s, child)
            force = force + R @ loads.fc[j]
            Nt = Nt - np.cross(P, R @ loads.fc[j]) - R @ loads.nc[j]
    return np.concatenate([force, beta_star + np.cross(s.r, beta) - Nt])


def hinge_accelerations(
    links: list[Link], base: Base, theta: Array, rate: Array, loads: Loads, *, printed: tuple[str, ...] = ()
) -> Array:
    """θ̈ by section 3: inbound A*, B*, L, G, outbound F, θ̈, q; `printed` names the `SLIPS` to use as printed.

    With γ as printed, a zero where the unknown reaction was replaced by θ̈, the control torque reacts whole on link
    i − 1. What reacts is n^c − J^a θ̈: γ has −J^a in that place.
    """
    assert set(printed) <= set(SLIPS)
    count = len(links)
    steps: list[Step] = []
    for i, link in enumerate(links):
        if link.before < 0:
            omega, gravity = link.frame.T @ base.omega, link.frame.T @ base.gravity
        else:
            R, _ = distal(steps[link.before], link)
            omega, gravity = R.T @ steps[link.before].omega, R.T @ steps[link.before].gravity
        steps.append(Step(link, theta[i], rate[i], omega, gravity))

    # 3.1.1, 3.2.1: inbound
    A_carried, B_carried = np.zeros((count, 6, 6)), np.zeros((count, 6))  # sums over branches: (2.3.3), (2.3.4)
    A_star, B_star, G = np.zeros((count, 6, 6)), np.zeros((count, 6)), np.zeros((count, 6, 6))
    for i in reversed(range(count)):
        link, s = links[i], steps[i]
        ZZ = np.outer(link.Z, link.Z)
        A = A_matrix(link.mass, s.r, s.J)
        S = np.eye(6) - ZZ - A @ ZZ - ZZ * link.Ja  # (2.1.7.2)
        L = S - A_carried[i] @ ZZ  # (2.1.19.1); (2.1.9) at a free end
        G[i] = np.linalg.inv(L)  # (2.1.11)
        A_star[i] = A + A_carried[i]  # (2.1.19.3)
        B_star[i] = B_vector(i, links, steps, loads) + B_carried[i]  # (2.1.19.5)
        if link.before < 0:
            continue
        k = link.before
        R, P = distal(steps[k], link)
        gamma = np.eye(6) - ZZ * (1.0 if "gamma without J^a" in printed else 1.0 + link.Ja)
        reaction = P_matrix(P) @ R_star(R) @ gamma @ G[i]
        A_seen = reaction @ A_star[i] @ R_star(R).T @ P_matrix(P).T  # (2.1.19.4)
        A_carried[k] += A_seen
        A_sigma = A_seen @ sigma_star(links[k], steps[k], P, printed)
        B_carried[k] += reaction @ B_star[i] + A_sigma  # (2.1.19.6), (2.1.19.7)
        if "A* sigma* twice" in printed:
            B_carried[k] += A_sigma

    # 3.1.2: outbound
    accelerations = np.zeros(count)
    of_frame_before: list[Array] = []
    for i, link in enumerate(links):
        if link.before < 0:
            q = R_star(link.frame).T @ P_matrix(link.place).T @ np.concatenate([base.v_dot, base.omega_dot])
            # the base's own σ*: its frames i − 1 are fixed on it
            q += R_star(link.frame).T @ np.concatenate([
                np.cross(base.omega, np.cross(base.omega, link.place)), np.zeros(3)
            ])  # fmt: skip
        else:
            k = link.before
            R, P = distal(steps[k], link)
            sigma = accelerations[k] * links[k].Z  # (2.1.13.1), (2.2.5)
            moved = of_frame_before[k] + sigma + sigma_star(links[k], steps[k], P, printed)
            q = R_star(R).T @ P_matrix(P).T @ moved  # (2.1.13)
        of_frame_before.append(q)
        F = A_star[i] @ q + B_star[i]  # (2.1.19.2)
        accelerations[i] = link.Z @ G[i] @ F  # (2.1.20)
    return accelerations


def from_denavit_hartenberg(theta: float, phi: float, a: float, s: float) -> tuple[Array, Array]:
    """R_{i,i−1} of (A.1.1) and P*_i of (A.1.3)."""
    c, n, cp, sp = np.cos(theta), np.sin(theta), np.cos(phi), np.sin(phi)
    R = np.array([[c, n, 0.0], [-cp * n, cp * c, sp], [sp * n, -sp * c, cp]])
    return R, np.array([a * c, a * n, s])
