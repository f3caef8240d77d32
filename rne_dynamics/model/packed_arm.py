"""A robot in one flat array: what compiled functions take instead of a model.

Every array argument of a compiled function costs a call from Python as much as a quarter of the recursion over a
six-joint arm. So topology, parameters, base motion, link frames and work memory lie behind one another in one array of
float64, behind a head of integers that says where. The array is opaque to callers, who get it from `packed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.errors import ModelError
from rne_dynamics.model import layout
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.jit import helper
from rne_dynamics.spatial.views import integers, matrix, overlaps, vector

if TYPE_CHECKING:
    from rne_dynamics.model.robot import RobotModel

Array = NDArray[np.float64]

# the head: a mark that the array is a packed arm, its length, sizes, two switches, and where each part begins
(
    _MARK, _SIZE, COORDINATES, POSITIONS, BODIES, LINKS, CHECKED, GEARED,
    _TOPOLOGY, _PARAMETERS, _BASE, _REST, _LINK_BODIES, _LINK_FRAMES, _WORK, _HEAD,
) = columns(*(1,) * 15)  # fmt: skip
_IS_PACKED = np.int64(0x52_4E_45_41_52_4D_31)

#: Columns of work memory a body.
ROOM = 96
#: Columns of a link's frame in its body's: R_BL row after row, p_BL.
FRAME_ROTATION, FRAME_POSITION, FRAME_COLUMNS = columns(9, 3)

#: What compiled functions return: the answer is in place; the first argument is no packed arm; an array of a wrong
#: shape; an output that lies in the memory of an input; NaN or infinity; a joint that moves no inertia;
#: a link that there is not.
OK, NOT_AN_ARM, WRONG_SHAPE, OVERLAPPING, NOT_FINITE, NO_INERTIA, NO_SUCH_LINK = range(7)


def packed(robot: RobotModel, base: Array, *, checked: bool) -> Array:
    """The robot in one array.

    Parameters
    ----------
    robot
        The model.
    base
        Packed base motion (12,).
    checked
        Whether functions that are given the array look for NaN and infinity in their arguments.
    """
    frames = tuple(robot.links.values())
    parts: dict[int, Array] = {
        _TOPOLOGY: robot.topology.ravel().view(np.float64),
        _PARAMETERS: robot.parameters.ravel(),
        _BASE: base,
        _REST: np.zeros(robot.n),
        _LINK_BODIES: np.array([frame.body for frame in frames], dtype=np.int64).view(np.float64),
        _LINK_FRAMES: np.array([[*frame.rotation.ravel(), *frame.position] for frame in frames]).ravel(),
        _WORK: np.zeros(ROOM * (robot.bodies + 1)),
    }
    head = np.zeros(_HEAD, dtype=np.int64)
    head[_MARK] = _IS_PACKED
    head[COORDINATES], head[POSITIONS], head[BODIES], head[LINKS] = robot.n, robot.nq, robot.bodies, len(frames)
    head[CHECKED], head[GEARED] = checked, robot.has_mimic
    start = int(_HEAD)
    for slot, part in parts.items():
        head[slot] = start
        start += part.size
    head[_SIZE] = start
    return np.concatenate([head.view(np.float64), *parts.values()])


def fits_room(columns: int) -> int:
    """`columns`, which a kernel wants of work memory a body, where the arm has as many."""
    if columns > ROOM:
        raise ModelError(f"a kernel wants {columns} columns of work memory a body; a packed arm has ROOM = {ROOM}")
    return columns


@helper
def head_of(arm: Array, slot: int) -> int:
    """A number of the head: `COORDINATES`, `POSITIONS`, `BODIES`, `LINKS`, `CHECKED`, `GEARED`."""
    return int(integers(arm, 0, 1, _HEAD)[0, slot])


@helper
def topology_of(arm: Array) -> NDArray[np.int64]:
    """The model's `topology`."""
    return integers(arm, head_of(arm, _TOPOLOGY), head_of(arm, BODIES), layout.TOPOLOGY_COLUMNS)


@helper
def parameters_of(arm: Array) -> Array:
    """The model's `parameters`."""
    return matrix(arm, head_of(arm, _PARAMETERS), head_of(arm, BODIES), layout.COLUMNS)


@helper
def base_of(arm: Array) -> Array:
    """The packed base motion (12,)."""
    return vector(arm, head_of(arm, _BASE), 12)


@helper
def rest_of(arm: Array) -> Array:
    """Zeros (n,)."""
    return vector(arm, head_of(arm, _REST), head_of(arm, COORDINATES))


@helper
def no_loads(arm: Array) -> Array:
    """External loads where there are none, (0, 6)."""
    return matrix(arm, 0, 0, 6)


@helper
def link_bodies_of(arm: Array) -> NDArray[np.int64]:
    """The body of every link, −1 for the base, (links, 1)."""
    return integers(arm, head_of(arm, _LINK_BODIES), head_of(arm, LINKS), 1)


@helper
def link_frames_of(arm: Array) -> Array:
    """The frame of every link in its body's, (links, FRAME_COLUMNS)."""
    return matrix(arm, head_of(arm, _LINK_FRAMES), head_of(arm, LINKS), FRAME_COLUMNS)


@helper
def work_of(arm: Array, columns: int) -> Array:
    """Work memory (bodies, columns), for columns that `fits_room` has let pass."""
    return matrix(arm, head_of(arm, _WORK), head_of(arm, BODIES), columns)


@helper
def _all_finite(values: Array) -> bool:
    finite = True
    for k in range(values.shape[0]):
        finite &= np.isfinite(values[k])
    return finite


@helper
def refusal_of_position(arm: Array, q: Array) -> int:
    """`OK`, or why a packed arm and positions cannot be used."""
    if arm.shape[0] < _HEAD or head_of(arm, _MARK) != _IS_PACKED or head_of(arm, _SIZE) != arm.shape[0]:
        return NOT_AN_ARM
    if q.shape[0] != head_of(arm, POSITIONS):
        return WRONG_SHAPE
    if head_of(arm, CHECKED) != 0 and not _all_finite(q):
        return NOT_FINITE
    return OK


@helper
def refusal(arm: Array, q: Array, qd: Array, x: Array) -> int:
    """`OK`, or why a packed arm, positions, velocities and a third vector (n,) cannot be used."""
    code = refusal_of_position(arm, q)
    if code != OK:
        return code
    n = head_of(arm, COORDINATES)
    if qd.shape[0] != n or x.shape[0] != n:
        return WRONG_SHAPE
    if head_of(arm, CHECKED) != 0 and not (_all_finite(qd) and _all_finite(x)):
        return NOT_FINITE
    return OK


@helper
def shared(out: Array, arm: Array, q: Array, qd: Array, x: Array) -> bool:
    """Whether the output lies in the memory of one of the inputs."""
    return overlaps(out, arm) or overlaps(out, q) or overlaps(out, qd) or overlaps(out, x)
