"""A closed loop of a mechanism: two frames on two links, and the relative motions that its joint blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.errors import ModelError
from rne_dynamics.model.inertia import Array, frozen_array, read_only
from rne_dynamics.model.rebuilt import set_fields

#: Relative motions of frame B in frame A's axes, in the order of `Loop.blocked`.
DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


class LoopKind(Enum):
    """Joints that close loops, by what they block; z is the axis of turning, or the normal of the plane."""

    WELD = ("x", "y", "z", "rx", "ry", "rz")
    REVOLUTE = ("x", "y", "z", "rx", "ry")
    CYLINDRICAL = ("x", "y", "rx", "ry")
    PRISMATIC = ("x", "y", "rx", "ry", "rz")
    UNIVERSAL = ("x", "y", "z", "rz")  # turns about y of frame A and x of frame B
    SPHERICAL = ("x", "y", "z")
    PLANAR = ("z", "rx", "ry")
    PLANAR_PIN = ("x", "y")  # a revolute joint between links that stay in one plane anyhow: nothing redundant


@dataclass(frozen=True, eq=False)
class LoopFrame:
    """Frame of a loop's joint on one link."""

    #: The link's name.
    link: str
    #: ``R_LF`` (3, 3) and ``p_LF`` (3,) in the link's frame; m.
    rotation: Array = field(default_factory=lambda: np.eye(3))
    position: Array = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        what = f"loop frame on link {self.link!r}"
        rotation = frozen_array(self.rotation, (3, 3), f"{what}: rotation")
        if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-9) or not np.linalg.det(rotation) > 0.0:
            raise ModelError(f"{what}: rotation is {rotation.tolist()}; it must be a rotation matrix")
        set_fields(self, rotation=rotation, position=frozen_array(self.position, (3,), f"{what}: position"))


@dataclass(frozen=True, eq=False)
class Loop:
    """One loop, closed by a joint that the tree does not have. Raises ModelError: nothing blocked, or a wrong shape."""

    #: The loop's name.
    name: str
    #: The frames that the joint holds together.
    a: LoopFrame
    b: LoopFrame
    #: Which relative motions of B in A's axes are blocked: translations along A's x, y, z, then turns about them; shape
    #: (6,). Three blocked turns hold the two attitudes together; two hold B's third axis on A's; one, say about z,
    #: holds B's next axis, x, square to A's one after, y (the universal joint). At least one must be blocked. Half a
    #: turn off is not closed: axes held together point the same way, and with one blocked turn x and y of B do not both
    #: point away from A's.
    blocked: NDArray[np.bool_]

    def __post_init__(self) -> None:
        blocked = np.array(self.blocked, dtype=np.bool_)
        if blocked.shape != (6,) or not blocked.any():
            raise ModelError(
                f"loop {self.name!r}: blocked is {np.asarray(self.blocked).tolist()}; it must be six booleans for "
                f"{', '.join(DIRECTIONS)}, at least one of them true"
            )
        set_fields(self, blocked=read_only(blocked))

    @staticmethod
    def of_kind(name: str, kind: LoopKind, a: LoopFrame, b: LoopFrame) -> Loop:
        """A loop closed by one of the usual joints."""
        return Loop(name, a, b, np.array([direction in kind.value for direction in DIRECTIONS]))
