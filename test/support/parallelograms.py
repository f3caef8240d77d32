"""A ladder of parallelograms of any size."""

from __future__ import annotations

import numpy as np

from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.mechanism import Loop, LoopFrame, LoopKind, Mechanism
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink

#: Length of a ladder's legs, and half of its width, m.
LENGTH = 0.1


def ladder(loops: int) -> Mechanism:
    """A stack of parallelograms in a vertical plane, whose rungs stay level.

    Two legs of each are on the rung below; the left leg is driven and has the rung attached, and the loop is cut
    between rung and right leg. So a loop adds three joints to the tree and one freedom to the mechanism, and the
    pin that closes it blocks two directions, none of them redundant. The posture leans right and left alternately.
    """
    if loops < 1:
        raise ArgumentError(f"loops is {loops}; a ladder needs at least one")
    width, height, y = 2.0 * LENGTH, LENGTH, np.array([0.0, 1.0, 0.0])
    slender = Inertia(0.5, np.array([0.0, 0.0, height / 2.0]), np.diag([5e-4, 5e-4, 1e-5]))
    rung = Inertia(1.0, np.array([width / 2.0, 0.0, 0.0]), np.diag([2e-5, 4e-3, 4e-3]))
    right, up = np.array([width, 0.0, 0.0]), np.array([0.0, 0.0, height])
    links, joints, pins, posture = [TreeLink("base")], [], [], []
    below = "base"
    for i in range(loops):
        left_leg, right_leg, level = f"left{i}", f"right{i}", f"rung{i}"
        joints += [
            TreeJoint(f"drive{i}", JointKind.REVOLUTE, below, left_leg, axis=y),
            TreeJoint(f"hang{i}", JointKind.REVOLUTE, left_leg, level, position=up, axis=y),
            TreeJoint(f"follow{i}", JointKind.REVOLUTE, below, right_leg, position=right, axis=y),
        ]
        links += [TreeLink(left_leg, slender), TreeLink(level, rung), TreeLink(right_leg, slender)]
        # the pin turns about y, the third axis of its frames
        turn = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
        ends = LoopFrame(level, turn, right), LoopFrame(right_leg, turn, up)
        pins.append(Loop.of_kind(f"pin{i}", LoopKind.PLANAR_PIN, *ends))
        below = level
        lean = 0.3 if i % 2 == 0 else -0.3
        posture += [(f"drive{i}", lean), (f"hang{i}", -lean), (f"follow{i}", lean)]
    robot = assemble(KinematicTree(f"ladder{loops}", tuple(links), tuple(joints)))
    places = dict(posture)
    return Mechanism(
        robot,
        tuple(pins),
        tuple(f"drive{i}" for i in range(loops)),
        np.array([places[name] for name in robot.joint_names]),
    )
