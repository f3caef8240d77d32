"""The equations of motion of a flexible arm from its energies: no recursion, no integrals over mode shapes.

Positions are products of 4 × 4 matrices along the chain of links as the description has it, one for each joint and each
attachment on a bent link; the kinetic energy is summed over particles. It is a quadratic form of the
velocities, so velocities in the directions of the coordinates give the inertia matrix (polarization), and steps of
10⁻³⁰ i in the coordinates give every derivative of Lagrange's equations without cancellation.

A particle is at h₀ + h₁ + h₂ in powers of the amplitudes, and the kinetic energy keeps h₀² + 2 h₀ h₁ + h₁² + 2 h₀ h₂;
what is left out is small of third order. That is the energy of document 003, (22), with the shortening h₂ added.

The particles are positions of a beam's mass and their displacement by the mode shapes. The integrals of `ModalLink` are
not used: only its shapes at points (`ModalLink.at`) and the beam's mass distribution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.dynamics.declared.arguments import BaseMotion, Wrenches, bodies_wrenches
from rne_dynamics.flexible.equations import EquationsOfMotion
from rne_dynamics.flexible.packed import coordinates
from rne_dynamics.model.bodies import align_z
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.flexible.beam import Beam, Rule, gauss
from rne_dynamics.model.flexible.modal import Attachment, ModalLink
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.tree import JointKind, TreeJoint

#: Gauss points between two kinks: of smooth shapes along the whole beam, and of cubics on one element.
SMOOTH = 48
ELEMENT = 8


class Particles(NamedTuple):
    """Particles of a flexible link with m modes, in the link's axes."""

    #: kg; shape (N,).
    mass: Array
    #: Undeformed, m; shape (N, 3).
    position: Array
    #: Per unit of each amplitude; shape (N, m, 3).
    displacement: Array
    #: Additional displacement −½ Σ δ_k δ_l s_kl at amplitudes δ; shape (N, m, m, 3).
    shortening: Array


def arm_particles(arm: FlexibleArm) -> dict[str, Particles]:
    """The particles of every flexible link of an arm, all of them beams, by the link's name."""
    return {link.link: beam_particles(link.field.beam, link) for link in arm.flexible_links}


def beam_particles(beam: Beam, link: ModalLink) -> Particles:
    """The particles of a beam: four at each Gauss point, with the mass and the second moments of the section.

    Bending translates a section, torsion turns it about the beam's axis (`Beam`: bending neglects the rotary inertia of
    sections). Shortening moves it along the axis.
    """
    x, w = _rule(beam)
    axis, side, up = beam.rotation.T
    mass = beam.along("mass_per_length", x) * w
    # m/2 (2 a²) = spread: two particles at ±a √2 on either axis of the section
    along_y = np.sqrt(2.0 * beam.along("spread_y", x) / beam.along("mass_per_length", x))
    along_z = np.sqrt(2.0 * beam.along("spread_z", x) / beam.along("mass_per_length", x))
    offsets = np.stack([np.outer(s, d) for s, d in ((along_y, side), (-along_y, side), (along_z, up), (-along_z, up))])
    centres = beam.origin + np.outer(x, axis)
    shapes = [link.at(centre) for centre in centres]
    translation = np.array([shape.translation for shape in shapes])
    torsion = np.array([shape.rotation @ axis for shape in shapes])
    turned = torsion[None, :, :, None] * np.cross(axis, offsets)[:, :, None, :]
    drawn = np.array([np.multiply.outer(shape.shortening @ axis, axis) for shape in shapes])
    count, m = len(x), link.modes
    return Particles(
        mass=np.tile(0.25 * mass, 4), position=(centres + offsets).reshape(-1, 3),
        displacement=(translation + turned).reshape(4 * count, m, 3), shortening=np.tile(drawn, (4, 1, 1, 1)),
    )


def breaks(beam: Beam) -> Array:
    """Positions where shapes or properties may have kinks."""
    if beam.shapes != "finite_element":
        return beam.ends
    return np.unique(np.concatenate([beam.ends, np.linspace(0.0, beam.length, beam.elements + 1)]))


def _rule(beam: Beam) -> Rule:
    return gauss(breaks(beam), ELEMENT if beam.shapes == "finite_element" else SMOOTH)


Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Step:
    """One joint of the description: from the parent link's frame to the child's."""

    joint: TreeJoint
    parent: int
    coordinates: tuple[int, ...]
    modes: slice
    attachment: Attachment | None


def placement(step: Step, z: Complex, zd: Array) -> tuple[Complex, Complex]:
    """E (5) of a joint on its parent and its rate: the turn of a bent link is small, 1 + θ̃; (rows, 4, 4)."""
    E, dE = np.zeros((2, len(z), 4, 4), dtype=complex)
    E[:, :3, :3], E[:, :3, 3], E[:, 3, 3] = step.joint.rotation, step.joint.position, 1.0
    if step.attachment is not None:
        d, dd, there = z[:, step.modes], zd[:, step.modes], step.attachment
        E[:, :3, 3] += d @ there.translation - 0.5 * np.einsum("bk,bl,klx->bx", d, d, there.shortening)
        dE[:, :3, 3] = dd @ there.translation - np.einsum("bk,bl,klx->bx", d, dd, there.shortening)
        E[:, :3, :3] += cross(d @ there.rotation) @ step.joint.rotation
        dE[:, :3, :3] = cross(dd @ there.rotation) @ step.joint.rotation
        if there.shortening.any():  # second-order turn, consistent with the shortening
            turn, rate = cross(d @ there.rotation), cross(dd @ there.rotation)
            E[:, :3, :3] += 0.5 * turn @ turn @ step.joint.rotation
            dE[:, :3, :3] += 0.5 * (rate @ turn + turn @ rate) @ step.joint.rotation
    return E, dE


def joint_matrix(step: Step, z: Complex, zd: Array) -> tuple[Complex, Complex]:
    """A of a joint and its rate, about or along its axis in the joint's frame; (rows, 4, 4)."""
    joint, at = step.joint, step.coordinates
    A, dA = np.tile(np.eye(4, dtype=complex), (len(z), 1, 1)), np.zeros((len(z), 4, 4), dtype=complex)
    slides: list[tuple[int, Array]] = []
    turns = at[-1:]
    if joint.kind is JointKind.PRISMATIC:
        slides, turns = [(at[0], joint.axis)], ()
    elif joint.kind is JointKind.PLANAR:
        plane = align_z(joint.axis)
        slides = [(at[0], plane[:, 0]), (at[1], plane[:, 1])]
    for k, axis in slides:
        A[:, :3, 3] += z[:, k, None] * axis
        dA[:, :3, 3] += zd[:, k, None] * axis
    for k in turns:
        S = cross(joint.axis)
        c, s = np.cos(z[:, k])[:, None, None], np.sin(z[:, k])[:, None, None]
        A[:, :3, :3] += s * S + (1.0 - c) * (S @ S)
        dA[:, :3, :3] = zd[:, k, None, None] * (c * S + s * (S @ S))
    return A, dA


def cross(v: Any) -> Any:
    """ṽ of vectors (…, 3), complex ones too; shape (…, 3, 3)."""
    x, y, z = np.moveaxis(v, -1, 0)
    o = np.zeros_like(x)
    return np.stack([np.stack([o, -z, y], -1), np.stack([z, o, -x], -1), np.stack([-y, x, o], -1)], -2)


#: Step into the complex plane; its square is negligible compared with 1.
_STEP = 1e-30


def energy_equations(
    arm: FlexibleArm, particles: Mapping[str, Particles], q: ArrayLike, delta: ArrayLike, qd: ArrayLike,
    deltad: ArrayLike, *, wrenches: Wrenches | None = None, base_motion: BaseMotion | None = None,
) -> EquationsOfMotion:
    """The equations of motion by Lagrange's equations with derivatives of the energies, as `equations_of_motion`.

    `arm`, `q`, `delta`, `qd`, `deltad`, `wrenches`: as for `equations_of_motion`; `particles`: of every flexible link,
    by its name; `base_motion`: as there, but the same for all states: vectors of shape (3,). Raises ArgumentError:
    wrong shapes, NaN or infinity; ModelError: an unknown link in `wrenches`.
    """
    lead, (positions, amplitudes, velocities, rates) = coordinates(arm, q=q, delta=delta, qd=qd, deltad=deltad)
    z, zd = np.hstack([positions, amplitudes]), np.hstack([velocities, rates])
    system = System(arm, particles, base_motion)
    loads = bodies_wrenches(arm.body_model, wrenches, lead)  # one row for all, or one each
    found = [system.equations(z[b], zd[b], loads[b if len(loads) > 1 else 0]) for b in range(len(z))]
    J = np.array([f[0] for f in found]).reshape((*lead, arm.nz, arm.nz))
    return EquationsOfMotion(J, np.array([f[1] for f in found]).reshape((*lead, arm.nz)))


class System:
    """An arm as a chain of 4 × 4 matrices; links in the order of the tree, the root first."""

    def __init__(self, arm: FlexibleArm, particles: Mapping[str, Particles], base_motion: BaseMotion | None) -> None:
        tree = arm.robot.tree
        flexible = {link.link: link for link in arm.flexible_links}
        self.nz = arm.nz
        self.stiffness, self.damping = np.zeros((2, arm.modes, arm.modes))
        self.modes = {}
        self.higher = {name: (link.coupling, link.hardening) for name, link in flexible.items()}
        for name, link in flexible.items():
            own = arm.mode_slice(name)
            self.stiffness[own, own], self.damping[own, own] = link.stiffness, link.damping
            self.modes[name] = slice(arm.n + own.start, arm.n + own.stop)
        self.joints = arm.n
        self.links = [tree.root, *(joint.child for joint in tree.depth_first)]
        self.steps = []
        self.rotor = np.zeros(arm.nz)
        for joint in tree.depth_first:
            names = {
                JointKind.FIXED: [],
                JointKind.PLANAR: [f"{joint.name}/{part}" for part in ("x", "y", "theta")],
            }.get(joint.kind, [joint.name])
            at = tuple(arm.joint_index(name) for name in names)
            self.rotor[list(at)] = joint.rotor_inertia
            bent = flexible.get(joint.parent)
            attachment = None if bent is None else bent.at(joint.position)
            modes = self.modes.get(joint.parent, slice(0))
            self.steps.append(Step(joint, self.links.index(joint.parent), at, modes, attachment))
        self.particles = [particles[name] if name in flexible else None for name in self.links]
        inertias = [tree.link(name).inertia or Inertia() for name in self.links]
        self.masses = [_second_moments(*pair) for pair in zip(inertias, self.particles, strict=True)]
        self.bodies = {joint: k for k, joint in enumerate(arm.body_model.body_names)}
        self.frames = [arm.body_model.links[name] for name in self.links]
        motion = base_motion or BaseMotion()
        v, w, a, dw = (
            np.asarray(x, dtype=np.float64)
            for x in (
                motion.linear_velocity, motion.angular_velocity, motion.linear_acceleration, motion.angular_acceleration
            )
        )  # fmt: skip
        self.gravity = arm.gravity @ np.asarray(motion.rotation, dtype=np.float64)
        # W, Ẇ and Ẅ of the base in resting axes that coincide with its own now
        self.base, self.still = np.eye(4), np.zeros((4, 4))
        self.rate, self.second = np.zeros((2, 4, 4))
        turning = cross(w)
        self.rate[:3, :3], self.rate[:3, 3] = turning, v
        self.second[:3, :3], self.second[:3, 3] = cross(dw) + turning @ turning, a

    def equations(self, z: Array, zd: Array, loads: Array) -> tuple[Array, Array]:
        """J and bias in one state; `loads` has a row for every body, or none."""
        nz, step = self.nz, _STEP * 1j
        # one unit velocity for each coordinate, and one for the base with an imaginary step in time
        directions = np.vstack([np.eye(nz), np.zeros(nz)])
        rates = np.zeros((nz + 1, 4, 4), dtype=complex)
        rates[nz] = self.rate + step * self.second
        now = np.tile(z + step * zd, (nz + 1, 1))
        left, right = self.momenta(now, directions, self.motion(now, directions, self.base + step * self.rate, rates))
        form = left @ right.T
        form[:nz, :nz] += np.diag(self.rotor)
        momentum = form[:nz] @ np.append(zd, 1.0)
        bias = momentum.imag / _STEP
        # one imaginary step in each coordinate
        near, velocity = z + step * np.eye(nz), np.tile(zd, (nz, 1))
        motion = self.motion(near, velocity, self.base, self.rate)
        left, right = self.momenta(near, velocity, motion)
        potential = self.weight(near, motion[0]) + self.higher_strain(near)
        bias += (potential - 0.5 * (left * right).sum(axis=1)).imag / _STEP
        n = self.joints
        bias[n:] += self.stiffness @ z[n:] + self.damping @ zd[n:]
        if len(loads):
            bias -= self.work(motion[0], loads)
        return form[:nz, :nz].real, bias

    def motion(self, z: Complex, zd: Array, base: Any, rate: Any) -> tuple[list[Complex], list[Complex]]:
        """W and Ẇ of every link for rows of states and velocities; each (rows, 4, 4)."""
        rows = len(z)
        W = [np.broadcast_to(np.asarray(base, dtype=complex), (rows, 4, 4))]
        dW = [np.broadcast_to(np.asarray(rate, dtype=complex), (rows, 4, 4))]
        for step in self.steps:
            E, dE = placement(step, z, zd)
            A, dA = joint_matrix(step, z, zd)
            P, dP = W[step.parent], dW[step.parent]
            W.append(P @ E @ A)
            dW.append(dP @ E @ A + P @ dE @ A + P @ E @ dA)
        return W, dW

    def momenta(self, z: Complex, zd: Array, motion: tuple[list[Complex], list[Complex]]) -> tuple[Complex, Complex]:
        """Two arrays (rows, …): the product of rows a and b is twice the mixed kinetic energy of velocities a, b.

        Without rotors.
        """
        rows = len(z)
        left, right = [], []
        for W, dW, C, name, matter in zip(*motion, self.masses, self.links, self.particles, strict=True):
            left.append(dW[:, :3].reshape(rows, 12))
            right.append((dW[:, :3] @ C).reshape(rows, 12))
            if matter is None:
                continue
            d, dd = z[:, self.modes[name]], zd[:, self.modes[name]]
            v0 = np.einsum("bxy,ny->bnx", dW[:, :3, :3], matter.position) + dW[:, None, :3, 3]
            h1, g1 = (np.einsum("bk,nkx->bnx", a, matter.displacement) for a in (d, dd))
            v1 = np.einsum("bxy,bny->bnx", dW[:, :3, :3], h1) + np.einsum("bxy,bny->bnx", W[:, :3, :3], g1)
            pairs = [(v0 + v1, v0 + v1)]
            if matter.shortening.any():
                h2 = -0.5 * np.einsum("bk,bl,nklx->bnx", d, d, matter.shortening)
                g2 = -np.einsum("bk,bl,nklx->bnx", d, dd, matter.shortening)
                v2 = np.einsum("bxy,bny->bnx", dW[:, :3, :3], h2) + np.einsum("bxy,bny->bnx", W[:, :3, :3], g2)
                pairs += [(v0, v2), (v2, v0)]
            for a, b in pairs:
                left.append(a.reshape(rows, -1))
                right.append((matter.mass[:, None] * b).reshape(rows, -1))
        return np.hstack(left), np.hstack(right)

    def weight(self, z: Complex, W: list[Complex]) -> Complex:
        """Potential energy of gravity; shape (rows,)."""
        total = np.zeros(len(z), dtype=complex)
        for frame, C, name, matter in zip(W, self.masses, self.links, self.particles, strict=True):
            total -= frame[:, :3] @ C[3] @ self.gravity
            if matter is not None:
                d = z[:, self.modes[name]]
                place = np.einsum("bk,n,nkx->bx", d, matter.mass, matter.displacement)
                place -= 0.5 * np.einsum("bk,bl,n,nklx->bx", d, d, matter.mass, matter.shortening)
                place += matter.mass @ matter.position
                total -= np.einsum("bxy,by,x->b", frame[:, :3, :3], place, self.gravity)
                total -= matter.mass.sum() * (frame[:, :3, 3] @ self.gravity)
        return total

    def higher_strain(self, z: Complex) -> Complex:
        """Strain energy of third and fourth order; shape (rows,)."""
        total = np.zeros(len(z), dtype=complex)
        for name, (B, H) in self.higher.items():
            d = z[:, self.modes[name]]
            total += np.einsum("bk,bl,bm,klm->b", d, d, d, B) / 3.0
            total += 0.25 * np.einsum("bk,bl,bm,bn,klmn->b", d, d, d, d, H)
        return total

    def work(self, W: list[Complex], loads: Array) -> Array:
        """Generalised forces of loads at the bodies' origins; row k of W is stepped in coordinate k; shape (nz,).

        A moment is a set of couples: half of n × e at the end of each of the link's three axes e.
        """
        total = np.zeros(self.nz)
        for step, frame, at in zip(self.steps, self.frames[1:], W[1:], strict=True):
            name = step.joint.name + ("/theta" if step.joint.kind is JointKind.PLANAR else "")
            if name not in self.bodies:  # part of another body, whose loads include its own
                continue
            load = loads[self.bodies[name]]
            force, moment = frame.rotation.T @ load[:3], frame.rotation.T @ load[3:]
            R, moved = at[0, :3, :3].real, at.imag / _STEP
            total += moved[:, :3, 3] @ R @ force
            total += 0.5 * np.einsum("bxe,xe->b", moved[:, :3, :3], R @ cross(moment))
        return total


def _second_moments(inertia: Inertia, particles: Particles | None) -> Array:
    """∫ [x y z 1]ᵀ [x y z 1] dm of a link less that of its particles; shape (4, 4)."""
    about = inertia.about_origin
    C = np.empty((4, 4))
    C[:3, :3] = 0.5 * np.trace(about) * np.eye(3) - about
    C[:3, 3] = C[3, :3] = inertia.first_moment
    C[3, 3] = inertia.mass
    if particles is not None:
        h = np.column_stack([particles.position, np.ones(len(particles.mass))])
        C -= (particles.mass[:, None] * h).T @ h
    return C
