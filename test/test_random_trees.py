"""Random trees answer in every form that a quantity can be asked in, or say why not; never a raw exception.

Massless links, point masses and rods are among their bodies, so that in many of them some motion has no inertia.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.every_form import problems

from rne_dynamics.compiling import store
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, KinematicTree, Mimic, Payload, TreeJoint, TreeLink, rotation_about

#: Of a joint: how often each kind is drawn.
KINDS = {
    JointKind.REVOLUTE: 0.4, JointKind.PRISMATIC: 0.2, JointKind.CONTINUOUS: 0.12, JointKind.FIXED: 0.14,
    JointKind.FLOATING: 0.07, JointKind.PLANAR: 0.07,
}  # fmt: skip
#: Of a link: how often each kind of body is drawn.
BODIES = {"solid": 0.6, "point": 0.1, "point at the origin": 0.05, "rod": 0.1, "nothing": 0.15}
#: m/s²
GRAVITIES = ((0.0, 0.0, -9.81), (0.0, 0.0, -9.81), (0.0, 0.0, 0.0), (1.0, -2.0, 9.0))


def random_tree(seed: int, most: int = 6) -> RobotModel:
    """A robot of up to `most` joints on a fixed or floating base, every fourth one with a payload."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, most + 1))
    links, joints = [TreeLink("base", _body(rng))], list[TreeJoint]()
    for k in range(count):
        joint = _joint(rng, f"joint{k}", links[int(rng.integers(len(links)))].name, f"link{k}", joints)
        joints.append(joint)
        links.append(TreeLink(joint.child, _body(rng)))
    tree = KinematicTree(f"tree{seed}", tuple(links), tuple(joints))
    gravity = GRAVITIES[int(rng.integers(len(GRAVITIES)))]
    robot = assemble(tree, base="floating" if rng.random() < 0.3 else "fixed", gravity=gravity)
    if rng.random() < 0.25:
        link = links[int(rng.integers(len(links)))].name
        robot = robot.with_payload(Payload(link, float(rng.uniform(0.1, 2.0)), rng.normal(scale=0.1, size=3)))
    return robot


def _joint(rng: np.random.Generator, name: str, parent: str, child: str, before: list[TreeJoint]) -> TreeJoint:
    kind = rng.choice(np.array(list(KINDS)), p=list(KINDS.values()))
    one = (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)
    leaders = [joint.name for joint in before if joint.kind in one]
    mimic = None
    if kind in one and leaders and rng.random() < 0.2:
        mimic = Mimic(str(rng.choice(leaders)), float(rng.choice([1.0, -1.0, 0.0, 0.5])), float(rng.choice([0.0, 0.2])))
    turn = rotation_about(_axis(rng), float(rng.choice([0.0, 0.5 * np.pi, np.pi, rng.uniform(-3.0, 3.0)])))
    position = np.zeros(3) if rng.random() < 0.2 else rng.normal(scale=0.3, size=3)
    rotor = float(rng.choice([0.0, 0.0, 0.0, 0.1]))
    return TreeJoint(name, kind, parent, child, turn, position, _axis(rng), mimic=mimic, rotor_inertia=rotor)


def _axis(rng: np.random.Generator) -> Array:
    """Along an axis of the frame, or oblique."""
    axis = rng.normal(size=3) if rng.random() < 0.5 else np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
    unit: Array = axis / np.linalg.norm(axis)
    return unit


def _body(rng: np.random.Generator) -> Inertia | None:
    kind = str(rng.choice(list(BODIES), p=list(BODIES.values())))
    mass, centre, u = float(rng.uniform(0.1, 5.0)), rng.normal(scale=0.1, size=3), _axis(rng)
    if kind == "nothing":
        return None
    if kind == "solid":
        turn, sides = rotation_about(u, rng.uniform(-3.0, 3.0)), rng.uniform(0.05, 0.4, 3) ** 2
        return Inertia(mass, centre, turn @ np.diag(mass / 12.0 * (sides.sum() - sides)) @ turn.T)
    if kind == "rod":
        return Inertia(mass, centre, mass * 0.01 * (np.eye(3) - np.outer(u, u)))
    return Inertia(mass, centre if kind == "point" else np.zeros(3))


@pytest.fixture(autouse=True)
def nothing_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep machine code in memory: nobody has these robots again."""
    kept: dict[str, bytes] = {}
    monkeypatch.setattr(store, "save", kept.__setitem__)
    monkeypatch.setattr(store, "load", kept.get)


def by_machine_code(robot: RobotModel, seed: int, share: float) -> list[str]:
    ways = {
        "general": robot.with_own_code(False), "own code": robot.with_own_code(), "shared": robot.with_shared_code()
    }  # fmt: skip
    return list(problems(ways, seed, share))


def test_a_few_trees() -> None:
    assert not [problem for seed in range(2) for problem in by_machine_code(random_tree(seed, 3), seed, 0.01)]


@pytest.mark.soak
@pytest.mark.parametrize("hundred", range(20))
def test_two_thousand_trees(hundred: int) -> None:
    """Of each tree 10 % of all questions, by general kernels, code of its own and shared code."""
    for seed in range(100 * hundred, 100 * hundred + 100):
        assert not by_machine_code(random_tree(seed, 5), seed, 0.1)
