"""Loads on a link from its subtree, by geometry alone, and the vibrations of a clamped link with these loads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.flexible_links import beam_frequencies

from rne_dynamics.errors import ModelError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.flexible.arm import bolted, carried, clamped_frequencies, loads
from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.flexible.beam_modes import modal_link
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, KinematicTree, Payload, TreeJoint, TreeLink, rotation_about

X, Y, Z = np.eye(3)
BALL = Inertia(2.0, np.array([0.3, 0.0, 0.0]), np.diag([0.1, 0.2, 0.3]))


def arm() -> RobotModel:
    """Beam along x with a motor before its tip and an arm beyond: elbow about z, slide along x, a bolt; all turned."""
    joints = (
        TreeJoint("shoulder", JointKind.REVOLUTE, "base", "beam", axis=Y),
        TreeJoint("bolt", JointKind.FIXED, "beam", "motor", position=np.array([0.2, 0.1, 0.0])),
        TreeJoint("elbow", JointKind.REVOLUTE, "beam", "fore", position=X, axis=Z),
        TreeJoint("slide", JointKind.PRISMATIC, "fore", "hand", position=np.array([0.5, 0.0, 0.0]), axis=X),
        TreeJoint("grip", JointKind.FIXED, "hand", "ball", rotation=rotation_about(Z, 0.5 * math.pi)),
    )
    links = [TreeLink("base"), TreeLink("beam", Inertia(1.0)), TreeLink("motor", Inertia(0.7)), TreeLink("fore", BALL)]
    return assemble(KinematicTree("arm", (*links, TreeLink("hand"), TreeLink("ball", BALL)), joints))


def test_all_that_hangs_beyond_the_tip() -> None:
    found = carried(arm(), "beam", X)
    # the ball's own x points along y
    ball = Inertia(2.0, np.array([0.5, 0.3, 0.0]), np.diag([0.2, 0.1, 0.3]))
    expected = BALL + ball
    assert found.mass == 4.0
    np.testing.assert_allclose(found.com, expected.com, rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.inertia, expected.inertia, rtol=0, atol=1e-15)


def test_in_a_posture() -> None:
    found = carried(arm(), "beam", X, posture=[3.0, 0.5 * math.pi, 0.4])
    quarter = rotation_about(Z, 0.5 * math.pi)
    expected = (BALL + Inertia(2.0, np.array([0.9, 0.3, 0.0]), np.diag([0.2, 0.1, 0.3]))).moved(quarter, np.zeros(3))
    np.testing.assert_allclose(found.com, expected.com, rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.about_origin, expected.about_origin, rtol=0, atol=1e-14)


def test_what_sits_before_the_tip_is_a_load_but_not_carried_at_the_tip() -> None:
    found = loads(arm(), "beam")
    assert [load.position.tolist() for load in found] == [[0.2, 0.1, 0.0], [1.0, 0.0, 0.0]]
    assert [load.inertia.mass for load in found] == [0.7, 4.0]
    assert carried(arm(), "beam", X, root=2 * X).mass == pytest.approx(4.7)  # of a beam the other way all is beyond
    assert carried(arm(), "beam", 1.1 * X).mass == 0.0
    assert loads(arm(), "ball") == ()


def test_errors() -> None:
    with pytest.raises(ModelError, match=r"'bean'.*beam"):
        carried(arm(), "bean", X)
    with pytest.raises(ModelError, match=r"posture has shape \(2,\); it must be \(3,\)"):
        loads(arm(), "beam", posture=[0.0, 1.0])
    with pytest.raises(ModelError, match="its tip is at its root"):
        carried(arm(), "beam", X, root=X)


def test_clamped_frequencies_are_the_beams() -> None:
    """Mass and inertia at the tip of shapes that know them: what `beam_frequencies` finds from the energies alone."""
    tip = Inertia(0.3, np.zeros(3), np.diag([0.01, 0.02, 0.03]))
    along = {"mass_per_length": 0.4, "EI_y": 2.0, "EI_z": 3.0, "GJ": 1.0, "spread_y": 1e-4, "spread_z": 2e-4}
    beam = Beam(
        "beam", 0.8, **{name: np.array([value]) for name, value in along.items()}, modes=(2, 2, 1),
        shapes="clamped_mass", tip_mass=0.3, tip_inertia=(0.01, 0.02, 0.03),
    )  # fmt: skip
    joints = (
        TreeJoint("joint", JointKind.REVOLUTE, "base", "beam"),
        TreeJoint("end", JointKind.FIXED, "beam", "tip", position=0.8 * X),
    )
    robot = assemble(KinematicTree("one", (TreeLink("base"), TreeLink("beam"), TreeLink("tip", tip)), joints))
    modal = modal_link(beam)
    found = clamped_frequencies(modal, loads(robot, "beam"))
    np.testing.assert_allclose(found, np.sort(beam_frequencies(beam)), rtol=1e-10)
    assert (clamped_frequencies(modal) > found * (1.0 + 1e-6)).all()


def test_bolted_payloads_are_links_of_their_own() -> None:
    tree = arm().tree
    load = Payload("beam", 0.5, (0.7, 0.0, 0.1), np.diag([1e-3, 2e-3, 2e-3]))
    twice = bolted(bolted(tree, load), load)
    assert [x.name for x in twice.links][-2:] == ["beam payload", "beam payload'"]
    same = assemble(tree.with_payload(load).with_payload(load))
    np.testing.assert_allclose(assemble(twice).parameters, same.parameters, rtol=1e-14, atol=1e-16)
    with pytest.raises(ModelError, match="no link named 'bean'"):
        bolted(tree, Payload("bean", 1.0))
