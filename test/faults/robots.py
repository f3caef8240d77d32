"""The arms of the campaign: the two-link arm, and those for the faults of the arm itself."""

from __future__ import annotations

from faults.arm import TWO_LINKS, Arm

from rne_dynamics.description.share import HOW_TO_GET, example_robots, share_file
from rne_dynamics.errors import ArgumentError, MissingDependencyError

_LINK = (
    '<link name="{name}"><inertial><origin xyz="0 0 {centre}"/><mass value="{mass}"/>'
    '<inertia ixx="{inertia}" iyy="{inertia}" izz="{twist}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
_JOINT = (
    '<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin xyz="0 0 {height}"/>'
    '<axis xyz="{axis}"/><limit lower="-{reach}" upper="{reach}" effort="{effort}" velocity="{velocity}"/></joint>'
)


def small_arm() -> str:
    """URDF of a small self-built arm: four joints, and a wrist of very low inertia."""
    links = (
        ("turret", 0.05, 1.2, 3e-3, 2e-3), ("upper_arm", 0.12, 0.6, 2.5e-3, 4e-4), ("forearm", 0.1, 0.35, 1e-3, 2e-4),
        ("wrist", 0.03, 0.12, 1.15e-4, 4e-5),
    )
    joints = (
        ("pan", 0.05, "0 0 1", 2.9, 4.0, 4.0), ("shoulder", 0.1, "0 1 0", 1.9, 8.0, 4.0),
        ("elbow", 0.24, "0 1 0", 2.4, 4.0, 5.0), ("wrist_pitch", 0.2, "0 1 0", 1.8, 1.0, 6.0),
    )
    text, parent = '<robot name="small_arm"><link name="base"/>', "base"
    for (link, centre, mass, inertia, twist), (joint, height, axis, reach, effort, velocity) in zip(
        links, joints, strict=True
    ):
        text += _LINK.format(name=link, centre=centre, mass=mass, inertia=inertia, twist=twist)
        text += _JOINT.format(
            name=joint, parent=parent, child=link, height=height, axis=axis, reach=reach, effort=effort,
            velocity=velocity,
        )
        parent = link
    return text + "</robot>"


def ur10() -> str:
    """URDF of the UR10, from the package that has it.

    Raises
    ------
    MissingDependencyError
        It is not installed.
    """
    if "ur10" not in example_robots():
        raise MissingDependencyError(f"the UR10 is in the package example-robot-data: {HOW_TO_GET}")
    return example_robots()["ur10"].read_text(encoding="utf-8")


def _shipped(name: str) -> str:
    return share_file(f"urdf/{name}.urdf").read_text(encoding="utf-8")


ARMS: dict[str, Arm] = {
    arm.name: arm
    for arm in (
        TWO_LINKS,
        Arm("small", small_arm, (0.3, 0.5, 0.6, 0.4), (0.3, 0.3, -0.4, 0.4), "wrist", 0.15, 8.0),
        Arm("puma560", lambda: _shipped("puma560"), (0.2, 0.3, -0.5, 0.3, 0.4, 0.2), (0.3, 0.3, -0.3, 0.4, 0.3, 0.4),
            "tool0", 2.0, 60.0, seconds=1.2),
        Arm("panda", lambda: _shipped("panda"), (0.2, 0.3, 0.3, -1.8, 0.2, 1.8, 0.3),
            (0.3, 0.3, 0.2, 0.3, 0.3, 0.3, 0.4), "panda_link8", 1.5, 40.0, seconds=1.2),
        Arm("ur10", ur10, (0.3, -0.8, 1.2, -0.6, 0.5, 0.4), (0.3, 0.3, -0.3, 0.4, 0.3, 0.4), "tool0", 3.0, 80.0,
            seconds=1.2),
    )
}
#: Arms for the faults of the arm itself; the first one is the usual one.
ROBOTS = ("small", "puma560", "panda", "ur10")


def arm_named(name: str) -> Arm:
    """The arm of that name; `ArgumentError` where there is none."""
    if name not in ARMS:
        raise ArgumentError(f"no arm of the campaign is called {name!r}; there are {', '.join(ARMS)}")
    return ARMS[name]
