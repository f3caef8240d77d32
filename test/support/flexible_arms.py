"""Arms with flexible links that tests build by hand, with every number in sight."""

from __future__ import annotations

from functools import cache

import numpy as np

from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.flexible.beam import Beam, Shapes
from rne_dynamics.model.flexible.beam_modes import modal_link
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink

Z = np.array([0.0, 0.0, 1.0])
Y = np.array([0.0, 1.0, 0.0])

#: The published planar two-link arm: kg/m, m, N·m², and hub and tip in kg and kg·m².
MU, LENGTH, EI = 0.2, 0.5, 1.0
HUB_1, HUB_2_MASS, HUB_2, TIP_MASS, TIP = 0.1, 1.0, 0.1, 0.1, 0.0005


def about_z(inertia: float) -> Array:
    """An inertia about z alone, kg·m²; a flat body's, so that it is one that a body can have."""
    return np.diag([0.5 * inertia, 0.5 * inertia, inertia])


def cantilever(
    beam: Beam, tip: Inertia | None = None, gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
    axis: Array = Z, hub: Inertia | None = None,
) -> FlexibleArm:
    """A beam on a joint about `axis`, called ``joint``, with a body ``tip`` at its end; the beam's link is ``beam``."""
    modal = modal_link(beam)
    links = [TreeLink("base"), TreeLink("beam", modal.inertia + (hub or Inertia())), TreeLink("tip", tip or Inertia())]
    joints = [
        TreeJoint("joint", JointKind.REVOLUTE, "base", "beam", axis=axis),
        TreeJoint("end", JointKind.FIXED, "beam", "tip", position=modal.tip),
    ]
    tree = KinematicTree("cantilever", tuple(links), tuple(joints))
    return FlexibleArm(assemble(tree, gravity=gravity), (modal,))


@cache
def two_link_arm(
    modes: tuple[int, int] = (2, 2), shapes: Shapes = "clamped_mass", stiffness: float = 1.0, damping: float = 0.0,
    stiffening: bool = False,
) -> FlexibleArm:
    """The published two-link arm in its horizontal plane; `stiffness` multiplies its EI.

    Link 1's shapes are for its subtree at θ₂ = 90°.
    """
    beam_mass = MU * LENGTH
    # all of arm 2 about joint 2, and where its mass is along it
    second = HUB_2 + beam_mass * LENGTH**2 / 3.0 + TIP_MASS * LENGTH**2 + TIP

    def link(name: str, count: int, mass: float, inertia: float) -> ModalLink:
        return modal_link(Beam(
            name, LENGTH, np.array([MU]), np.array([EI * stiffness]), modes=(count, 0, 0), shapes=shapes,
            damping=damping, tip_mass=mass, tip_inertia=(0.0, 0.0, inertia), stiffening=stiffening,
        ))  # fmt: skip

    modal = (
        link("link1", modes[0], HUB_2_MASS + beam_mass + TIP_MASS, second), link("link2", modes[1], TIP_MASS, TIP),
    )  # fmt: skip
    hubs = (Inertia(0.0, np.zeros(3), about_z(HUB_1)), Inertia(HUB_2_MASS, np.zeros(3), about_z(HUB_2)))
    links = (
        TreeLink("base"),
        TreeLink("link1", modal[0].inertia + hubs[0]),
        TreeLink("link2", modal[1].inertia + hubs[1]),
        TreeLink("tip", Inertia(TIP_MASS, np.zeros(3), about_z(TIP))),
    )
    end = np.array([LENGTH, 0.0, 0.0])
    joints = (
        TreeJoint("joint1", JointKind.REVOLUTE, "base", "link1"),
        TreeJoint("joint2", JointKind.REVOLUTE, "link1", "link2", position=end),
        TreeJoint("end", JointKind.FIXED, "link2", "tip", position=end),
    )
    return FlexibleArm(assemble(KinematicTree("two_link_arm", links, joints)), modal)


def random_state(arm: FlexibleArm, seed: int, size: float = 0.02) -> tuple[Array, Array, Array, Array]:
    """q, δ, q̇, δ̇: joints anywhere, tips of links deflected by about `size` of their length."""
    rng = np.random.default_rng(seed)
    q, qd = rng.uniform(-np.pi, np.pi, arm.n), rng.normal(size=arm.n)
    scale = np.concatenate([_amplitudes(link, size) for link in arm.flexible_links])
    return q, scale * rng.normal(size=arm.modes), qd, 5.0 * scale * rng.normal(size=arm.modes)


def _amplitudes(link: ModalLink, size: float) -> Array:
    there = link.at(link.tip)
    reach = np.linalg.norm(link.tip)
    moved = np.maximum(np.linalg.norm(there.translation, axis=1), reach * np.linalg.norm(there.rotation, axis=1))
    scaled: Array = size * reach / moved
    return scaled
