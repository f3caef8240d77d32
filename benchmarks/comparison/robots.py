"""Robots of the benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from comparison.peers.pinocchio import PinocchioModel

from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.share import example_robots
from rne_dynamics.description.sources import is_model_file, read_source
from rne_dynamics.description.urdf_writer import to_urdf
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import KinematicTree
from rne_dynamics.verification.engines import Rows, bare_states

#: Robots of the example-robot-data wheel for the goals: 6, 9, 19 and 32 joints.
WHEEL = ("ur5_robot.urdf", "panda.urdf", "baxter.urdf", "talos_reduced.urdf")
#: Robots without that wheel.
SHIPPED = ("scara", "puma560", "panda")


@dataclass(frozen=True, eq=False)
class BenchRobot:
    """A robot and its URDF for peers.

    Parameters
    ----------
    model
        Ours. Mimic joints are independent, as in Pinocchio, so that both compute the same.
    text
        The URDF.
    """

    model: RobotModel
    text: str

    @property
    def name(self) -> str:
        """The robot's own name."""
        return self.model.name

    @cached_property
    def pinocchio(self) -> PinocchioModel:
        """Pinocchio's model; `ModelError` if the models differ."""
        return PinocchioModel.from_urdf(self.model, self.text)

    @cached_property
    def tip(self) -> str:
        """The last of the links with the most joints above them."""
        depth = {-1: 0}
        for body, (parent, *_) in enumerate(self.model.topology.tolist()):
            depth[body] = depth[parent] + 1
        deepest = max(depth[link.body] for link in self.model.links.values())
        return [name for name, link in self.model.links.items() if depth[link.body] == deepest][-1]

    def states(self, count: int) -> Rows:
        """Random states inside the limits."""
        return bare_states(self.model, count, 0)


def robots(names: Sequence[str]) -> list[BenchRobot]:
    """The named robots, or the default ones; `DescriptionError` or `ArgumentError` for an invalid name."""
    return [load(name) for name in names or default_robots()]


def default_robots() -> tuple[str, ...]:
    """Paths in the example-robot-data wheel, or without it names of robots that ship."""
    found = {path.name: path for path in example_robots().values()}
    return tuple(str(found[name]) for name in WHEEL if name in found) or SHIPPED


def load(name: str) -> BenchRobot:
    """One robot from a source of `load_urdf`, or from a model file of an open arm, whose URDF peers read."""
    source = read_source(name)
    arm = load_model(source)
    if arm.kind != "arm":
        raise ArgumentError(f"{name} has closed loops or flexible links, which peers do not read: name a robot's URDF")
    model = assemble(_without_mimics(arm.tree)).with_own_code()
    if model.n == 0:
        raise ArgumentError(f"{name} has no joint that moves: there is nothing to time")
    return BenchRobot(model, to_urdf(arm) if is_model_file(source) else source.data.decode(source.encoding or "utf-8"))


def _without_mimics(tree: KinematicTree) -> KinematicTree:
    return replace(tree, joints=tuple(replace(joint, mimic=None) for joint in tree.joints))

