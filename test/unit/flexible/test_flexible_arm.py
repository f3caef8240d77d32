"""`FlexibleArm`: which bodies it has, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from support.flexible_arms import LENGTH, two_link_arm

from rne_dynamics.errors import ModelError
from rne_dynamics.flexible.packed import FIXED, KIND, PARENT, pack
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, Mimic, TreeJoint, TreeLink


def test_what_is_fixed_on_the_end_of_a_flexible_link_is_a_body_of_its_own() -> None:
    arm = two_link_arm()
    assert arm.body_model.bodies == 3
    assert arm.robot.bodies == 2
    packed = pack(arm)
    assert packed.topology[2, KIND] == FIXED
    assert packed.topology[2, PARENT] == 1
    assert packed.translation[2].any()
    assert (arm.n, arm.modes, arm.nz) == (2, 4, 6)
    assert arm.mode_names == ("link1/y1", "link1/y2", "link2/y1", "link2/y2")
    assert arm.mode_slice("link2") == slice(2, 4)
    assert arm.mass == pytest.approx(1.3)


def test_what_is_fixed_at_the_root_stays_part_of_the_link() -> None:
    """A motor on the hub, and a bracket fixed to that motor."""
    arm = two_link_arm()
    tree = arm.robot.tree
    motor = TreeLink("motor", Inertia(0.4, np.array([-0.05, 0.0, 0.0]), 1e-3 * np.eye(3)))
    tree = replace(
        tree,
        links=(*tree.links, motor, TreeLink("bracket", Inertia(0.1))),
        joints=(
            *tree.joints,
            TreeJoint("bolt", JointKind.FIXED, "link2", "motor", position=np.array([-0.02, 0.01, 0.0])),
            TreeJoint("screw", JointKind.FIXED, "motor", "bracket", position=np.array([0.3, 0.0, 0.0])),
        ),
    )
    loaded = FlexibleArm(assemble(tree), arm.flexible_links)
    assert loaded.body_model.bodies == 3
    assert loaded.body_model.links["bracket"].body == loaded.body_model.links["link2"].body


ARM = two_link_arm()
TREE, LINK = ARM.robot.tree, ARM.flexible_links[0]


def with_inertia(inertia: Inertia) -> RobotModel:
    """The rigid arm with another inertia of its first link."""
    return assemble(replace(TREE, links=tuple(replace(x, inertia=inertia) if x.name == "link1" else x
                                              for x in TREE.links)))  # fmt: skip


def follower() -> RobotModel:
    """The rigid arm whose second joint mimics the first."""
    return assemble(replace(TREE, joints=(TREE.joints[0], replace(TREE.joints[1], mimic=Mimic("joint1")),
                                          *TREE.joints[2:])))  # fmt: skip


@pytest.mark.parametrize(("call", "said"), [
    (lambda: FlexibleArm(ARM.robot, ()), r"no flexible link with a mode"),
    (lambda: FlexibleArm(ARM.robot, (replace(LINK, link="lnk1"),)), r"no link named 'lnk1'.*'link1'"),
    (lambda: FlexibleArm(ARM.robot, (LINK, LINK)), r"'link1' is flexible twice"),
    (lambda: FlexibleArm(ARM.robot, (replace(LINK, link="base"),)), r"root link 'base' cannot be flexible"),
    (lambda: FlexibleArm(assemble(TREE, base="floating"), ARM.flexible_links), r"floating base"),
    (lambda: FlexibleArm(with_inertia(Inertia(0.05)), ARM.flexible_links),
     r"elastic part has 0.1 kg, the whole link only 0.05 kg.*inertial: hub"),
    (lambda: FlexibleArm(with_inertia(Inertia(0.1, np.array([0.5 * LENGTH, 0.0, 0.0]))), ARM.flexible_links),
     r"no rigid body is left"),
    (lambda: FlexibleArm(follower(), ARM.flexible_links), r"mimic joints"),
    (lambda: ARM.flexible_link("tip"), r"no flexible link named 'tip'"),
    (lambda: ARM.topology, r"flexible links.*arm\.robot"),
])  # fmt: skip
def test_what_is_refused(call: Callable[[], object], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        call()
