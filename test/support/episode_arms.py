"""Arms for random episodes: classics, a redundant one, a light homemade one, and a large one of the wheel."""

from __future__ import annotations

from functools import cache

from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.model.robot import RobotModel


@cache
def robots() -> tuple[RobotModel, ...]:
    """All of them."""
    return (
        rne.load_urdf("planar2"), rne.load_urdf("puma560"), rne.load_urdf("panda"),
        rne.load_urdf(homemade_urdf()),
        rne.load_urdf(str(wheel_urdf("ur10_robot.urdf"))),
    )


#: Mass, inertia, effort limit, velocity limit, axis and length of each link.
LINKS = (
    (3.0, 0.02, 40.0, 3.0, "0 0 1", 0.1),
    (2.0, 0.015, 40.0, 3.0, "0 1 0", 0.15),
    (1.2, 0.008, 20.0, 3.0, "0 1 0", 0.3),
    (0.3, 0.0004, 5.0, 6.0, "1 0 0", 0.25),
)


def homemade_urdf() -> str:
    """Four joints and a light wrist, as somebody would write it down."""
    parts, parent, height = ["<link name='base'/>"], "base", 0.1
    for k, (mass, inertia, effort, speed, axis, length) in enumerate(LINKS, 1):
        parts.append(
            f"<link name='link{k}'><inertial><origin xyz='0 0 {length / 2}'/><mass value='{mass}'/><inertia "
            f"ixx='{inertia}' iyy='{inertia}' izz='{inertia / 2}' ixy='0' ixz='0' iyz='0'/></inertial></link>"
            f"<joint name='joint{k}' type='revolute'><parent link='{parent}'/><child link='link{k}'/>"
            f"<origin xyz='0 0 {height}'/><axis xyz='{axis}'/>"
            f"<limit lower='-2.5' upper='2.5' effort='{effort}' velocity='{speed}'/>"
            "<dynamics damping='0.05' friction='0.05'/></joint>"
        )
        parent, height = f"link{k}", length
    return f"<robot name='homemade'>{''.join(parts)}</robot>"
