from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from support.errors import relative_error
from support.urdf_text import joint, link
from support.urdf_text import robot as robot_text

import rne_dynamics as rne
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics
from rne_dynamics.errors import ModelError
from rne_dynamics.model.assembly import assemble, with_payload
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import JointKind, KinematicTree, Payload, TreeJoint, TreeLink

BODY = Inertia(1.0, np.array([0.1, 0.2, 0.3]), np.diag([0.02, 0.03, 0.04]))


def one_joint(kind: JointKind, **more) -> KinematicTree:
    return KinematicTree(
        "one", (TreeLink("base", BODY), TreeLink("tip", BODY)), (TreeJoint("j", kind, "base", "tip", **more),)
    )


def test_a_floating_joint_inside_the_tree_has_seven_positions_and_six_velocities():
    robot = assemble(one_joint(JointKind.FLOATING))
    assert (robot.nq, robot.n) == (7, 6)
    assert robot.joint_names[0] == "j/trans_x"
    assert robot.neutral.tolist() == [0, 0, 0, 0, 0, 0, 1]
    tau = inverse_dynamics(robot, robot.neutral, np.zeros(6), np.zeros(6))
    assert np.allclose(tau[:3], [0.0, 0.0, 9.81])


def test_the_model_is_frozen():
    robot = assemble(one_joint(JointKind.REVOLUTE))
    with pytest.raises(dataclasses.FrozenInstanceError):
        robot.n = 3
    for array in (robot.parameters, robot.topology, robot.lower, robot.gravity, robot.neutral):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_gravity_and_base_are_kept_by_derived_models():
    robot = assemble(one_joint(JointKind.REVOLUTE), base="floating", gravity=(0.0, 0.0, -1.62))
    loaded = with_payload(robot, Payload("tip", 2.0))
    assert loaded.base == "floating"
    assert relative_error(loaded.gravity, [0.0, 0.0, -1.62]) == 0.0


def test_a_payload_that_no_joint_moves_is_refused_instead_of_changing_nothing():
    said = "no joint moves link 'base' of robot 'one'"
    with pytest.raises(ModelError, match=said):
        with_payload(assemble(one_joint(JointKind.REVOLUTE)), Payload("base", 2.0))
    text = robot_text(link("a"), link("plate"), link("b"), joint("bolts", "a", "plate", "fixed"), joint("j", "a", "b"))
    with pytest.raises(ModelError, match="no joint moves link 'plate'"):
        rne.load_urdf(text, payload=Payload("plate", 2.0))
    floating = assemble(one_joint(JointKind.REVOLUTE), base="floating")
    assert floating.with_payload(Payload("base", 2.0)).mass == pytest.approx(floating.mass + 2.0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"base": "flying"}, "base is 'flying'"),
        ({"gravity": (0.0, 0.0)}, "gravity has shape"),
        ({"gravity": (0, 0, np.nan)}, "finite"),
    ],
)
def test_bad_options_are_refused(options, said):
    with pytest.raises(ModelError, match=said):
        assemble(one_joint(JointKind.REVOLUTE), **options)


def test_unknown_names_come_with_the_nearest_known():
    robot = assemble(one_joint(JointKind.REVOLUTE))
    with pytest.raises(ModelError, match="no link named 'tipp'; did you mean 'tip'"):
        robot.link("tipp")
    with pytest.raises(ModelError, match="no joint named 'k'"):
        robot.joint_index("k")
