from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from support.errors import relative_error

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
