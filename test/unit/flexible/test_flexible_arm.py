"""`FlexibleArm`: which bodies it has, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.flexible_arms import LENGTH, two_link_arm

import rne_dynamics as rne
from rne_dynamics.errors import ModelError
from rne_dynamics.flexible.packed import FIXED, KIND, PARENT, pack
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Inertia
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


def test_refusals() -> None:
    arm = two_link_arm()
    tree, link = arm.robot.tree, arm.flexible_links[0]
    with pytest.raises(ModelError, match=r"no flexible link with a mode"):
        FlexibleArm(arm.robot, ())
    with pytest.raises(ModelError, match=r"no link named 'lnk1'.*'link1'"):
        FlexibleArm(arm.robot, (replace(link, link="lnk1"),))
    with pytest.raises(ModelError, match=r"'link1' is flexible twice"):
        FlexibleArm(arm.robot, (link, link))
    with pytest.raises(ModelError, match=r"root link 'base' cannot be flexible"):
        FlexibleArm(arm.robot, (replace(link, link="base"),))
    with pytest.raises(ModelError, match=r"floating base"):
        FlexibleArm(assemble(tree, base="floating"), arm.flexible_links)
    light = tuple(replace(x, inertia=Inertia(0.05)) if x.name == "link1" else x for x in tree.links)
    with pytest.raises(ModelError, match=r"elastic part has 0.1 kg, the whole link only 0.05 kg.*inertial: hub"):
        FlexibleArm(assemble(replace(tree, links=light)), arm.flexible_links)
    short = tuple(
        replace(x, inertia=Inertia(0.1, np.array([0.5 * LENGTH, 0.0, 0.0]))) if x.name == "link1" else x
        for x in tree.links
    )
    with pytest.raises(ModelError, match=r"no rigid body is left"):
        FlexibleArm(assemble(replace(tree, links=short)), arm.flexible_links)
    follows = tuple(replace(j, mimic=Mimic("joint1")) if j.name == "joint2" else j for j in tree.joints)
    with pytest.raises(ModelError, match=r"mimic joints"):
        FlexibleArm(assemble(replace(tree, joints=follows)), arm.flexible_links)
    with pytest.raises(ModelError, match=r"no flexible link named 'tip'"):
        arm.flexible_link("tip")
    with pytest.raises(ModelError, match=r"flexible links.*arm\.robot"):
        arm.topology  # noqa: B018
    assert rne.RobotModel is type(arm.robot)
