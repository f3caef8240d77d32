"""Frames that do not move relative to the robot's root link: links fixed to it, and static transforms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rne_dynamics.dynamics.kinematics.inverse_kinematics import frame_of
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE
from rne_dynamics.model.mechanism import RigidRobot

#: Longest chain of static transforms.
MOST_FRAMES = 1000


class StaticFrames:
    """Poses of frames in the root link's frame; `robot`: has the links."""

    def __init__(self, robot: RigidRobot) -> None:
        links = robot.links
        self._root, self._moving = robot.tree.root, {name for name, x in links.items() if x.body != BASE}
        self._above = {
            name: (self._root, _matrix(x.rotation, x.position))
            for name, x in links.items() if name not in {self._root, *self._moving}
        }  # fmt: skip

    def add(self, parent: str, child: str, position: Sequence[float], quaternion: Sequence[float]) -> None:
        """Note a pose of `child` in `parent`, m, quaternion x y z w; not of the robot's links. Raises ArgumentError."""
        parent, child = parent.lstrip("/"), child.lstrip("/")
        R, p = frame_of((position, quaternion), f"static frame {child!r}")
        assert R is not None
        if child not in self._above and child not in self._moving:
            self._above[child] = parent, _matrix(R, p)

    def pose(self, frame: str) -> Array:
        """Pose of a frame in the root link's, (4, 4); `ControlError` where it moves or is not connected to it."""
        frame = frame.lstrip("/") or self._root
        (top, pose), (base, root) = self._top(frame), self._top(self._root)
        if top != base:
            why = (
                f"it moves with link {top!r}" if top in self._moving else
                "there is no static transform of it" if top == frame else
                f"static transforms lead from it to {top!r}, and from link {self._root!r} to {base!r}"
            )
            raise ControlError(
                f"frame {frame!r} is not fixed to the robot's base: {why}. Use {self._root!r}, a link fixed to it, "
                "or a frame that /tf_static connects with it"
            )
        R, p = root[:3, :3].T, root[:3, 3]
        return _matrix(R, -R @ p) @ pose

    def _top(self, frame: str) -> tuple[str, Array]:
        """The uppermost frame over one, and the pose in it."""
        pose = np.eye(4)
        for _ in range(MOST_FRAMES):
            if frame not in self._above:
                return frame, pose
            frame, above = self._above[frame]
            pose = above @ pose
        raise ControlError(f"static transforms form a loop at frame {frame!r}: check what publishes /tf_static")


def _matrix(R: Array, p: Array) -> Array:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R, p
    return pose
