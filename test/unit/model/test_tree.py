from __future__ import annotations

import math

import numpy as np
import pytest

from rne_dynamics.errors import ModelError
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import Friction, JointKind, KinematicTree, Limits, Mimic, TreeJoint, TreeLink

LINKS = tuple(TreeLink(name, Inertia(1.0, np.zeros(3), np.eye(3))) for name in "abcd")


def joint(name: str, parent: str, child: str, **more) -> TreeJoint:
    return TreeJoint(name, more.pop("kind", JointKind.REVOLUTE), parent, child, **more)


def tree(*joints: TreeJoint, links: tuple[TreeLink, ...] = LINKS) -> KinematicTree:
    return KinematicTree("r", links, joints)


CHAIN = (joint("j1", "a", "b"), joint("j2", "b", "c"), joint("j3", "c", "d"))


@pytest.mark.parametrize(
    ("joints", "links", "said"),
    [
        (CHAIN, (*LINKS, LINKS[0]), "link 'a' is there twice"),
        ((*CHAIN[:2], joint("j1", "c", "d")), LINKS, "joint 'j1' is there twice"),
        ((joint("j1", "a", "x"),), LINKS, "no link named 'x'"),
        ((*CHAIN, joint("j4", "a", "d")), LINKS, "link 'd' has two parents, joints 'j3' and 'j4'"),
        (CHAIN[:2], LINKS, "has 2 roots: a, d"),
        ((*CHAIN, joint("j4", "d", "a")), LINKS, "every link has a parent, so the joints form a loop"),
        ((joint("j1", "a", "b"), joint("j2", "c", "d"), joint("j3", "d", "c")), LINKS, "c, d form a loop"),
        ((), (), "has no link"),
        ((joint("j1", "a", "b", mimic=Mimic("j9")), *CHAIN[1:]), LINKS, "no joint named 'j9'; did you mean"),
        (
            (joint("j1", "a", "b", mimic=Mimic("j2")), joint("j2", "b", "c", mimic=Mimic("j1")), CHAIN[2]),
            LINKS,
            "mimic each other in a circle",
        ),
        (
            (joint("j1", "a", "b", kind=JointKind.FIXED), joint("j2", "b", "c", mimic=Mimic("j1")), CHAIN[2]),
            LINKS,
            "which is fixed",
        ),
        (
            (joint("j1", "a", "b", kind=JointKind.PLANAR, mimic=Mimic("j2")), *CHAIN[1:]),
            LINKS,
            "planar and cannot mimic",
        ),
    ],
)
def test_what_is_not_a_tree_is_refused_by_name(joints, links, said):
    with pytest.raises(ModelError, match=said):
        tree(*joints, links=links)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"axis": np.zeros(3)}, "axis is"),
        ({"axis": np.array([0.0, math.nan, 1.0])}, "axis is"),
        ({"limits": Limits(1.0, -1.0)}, "lower limit 1.0 is above the upper limit -1.0"),
        ({"rotor_inertia": -1.0}, "rotor inertia is -1.0"),
        ({"friction": Friction(viscous=math.inf)}, "friction viscous is inf"),
        ({"position": np.zeros(2)}, "position has shape"),
    ],
)
def test_a_joint_with_impossible_numbers_is_refused(more, said):
    with pytest.raises(ModelError, match=f"joint 'j1': {said}"):
        joint("j1", "a", "b", **more)


def test_chains_of_mimics_multiply_and_add_up():
    joints = (
        CHAIN[0],
        joint("j2", "b", "c", mimic=Mimic("j1", 2.0, 0.5)),
        joint("j3", "c", "d", mimic=Mimic("j2", -3.0, 1.0)),
    )
    led = tree(*joints).leader(joints[2])
    assert (led.joint, led.multiplier, led.offset) == ("j1", -6.0, -0.5)


def test_locking_a_leader_fixes_its_followers():
    joints = (CHAIN[0], joint("j2", "b", "c", mimic=Mimic("j1", 2.0, 0.5)), CHAIN[2])
    locked = tree(*joints).with_locked({"j1": 0.25})
    assert [j.kind for j in locked.joints] == [JointKind.FIXED, JointKind.FIXED, JointKind.REVOLUTE]
    assert locked.joints[1].rotation[0, 0] == pytest.approx(math.cos(1.0))


@pytest.mark.parametrize(
    ("lock", "said"),
    [({"j9": 0.0}, "no joint named 'j9'"), ({"j2": 0.0}, "lock 'j1' instead"), ({"j1": math.nan}, "must be finite")],
)
def test_locks_that_make_no_sense_are_refused(lock, said):
    joints = (CHAIN[0], joint("j2", "b", "c", mimic=Mimic("j1")), CHAIN[2])
    with pytest.raises(ModelError, match=said):
        tree(*joints).with_locked(lock)
