"""A robot in one flat array: what compiled functions take instead of a model.

Every array argument of a compiled function costs a call from Python as much as a quarter of the recursion over a
six-joint arm. So topology, parameters, base motion, link frames and work memory lie behind one another in one array of
float64, behind a head of integers that says where. The array is opaque to callers, who get it from `packed`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.compiling.views import Slot, number, overlaps, part
from rne_dynamics.errors import ModelError
from rne_dynamics.model import layout
from rne_dynamics.spatial.columns import columns

if TYPE_CHECKING:
    from rne_dynamics.model.robot import RobotModel

Array = NDArray[np.float64]

# the head: a mark that the array is a packed arm, its length, sizes, two switches, and where each part begins
(
    _MARK, _SIZE, COORDINATES, POSITIONS, BODIES, _ROWS, AXES, LINKS, CHECKED, GEARED, _SETS, _SET_ROWS, _WIDTH,
    _TOPOLOGY, _PARAMETERS, _BASE, _REST, _FIRST, _GROUPS, _LEADERS, _LINK_BODIES, _LINK_FRAMES, _WORK, _AXES,
    _SET_WORK, _FOUND, _SCHUR, _HEAD,
) = columns(*(1,) * 27)  # fmt: skip
_IS_PACKED = np.int64(0x52_4E_45_41_52_4D_31)

#: Columns of work memory: a row for each body and one more, a row for each joint axis, a row for each body in each set
#: of `nasser_geared`.
ROOM, AXES_ROOM, SETS_ROOM = 96, 32, 16
#: Columns of a link's frame in its body's: R_BL row after row, p_BL.
FRAME_ROTATION, FRAME_POSITION, FRAME_COLUMNS = columns(9, 3)

#: What compiled functions return: the answer is in place; the first argument is no packed arm; an array of a wrong
#: shape; an output that lies in the memory of an input; NaN or infinity; a joint that moves no inertia;
#: a link that there is not.
OK, NOT_AN_ARM, WRONG_SHAPE, OVERLAPPING, NOT_FINITE, NO_INERTIA, NO_SUCH_LINK = range(7)

_BODIES = Slot(int(BODIES))
#: The model's `topology` and `parameters`.
topology_of = part(Slot(int(_TOPOLOGY)), _BODIES, layout.TOPOLOGY_COLUMNS, integers=True)
parameters_of = part(Slot(int(_PARAMETERS)), _BODIES, int(layout.COLUMNS))
#: The packed base motion (12,), the same as one row, and zeros (12,) and (n,).
base_of, base_row_of = part(Slot(int(_BASE)), 12), part(Slot(int(_BASE)), 1, 12)
no_motion_of, rest_of = part(Slot(int(_REST)), 12), part(Slot(int(_REST)), Slot(int(COORDINATES)))
#: External loads where there are none, (0, 6).
no_loads_of = part(Slot(int(_REST)), 0, 6)
#: What `first_axes` gives, (bodies + 1,).
first_of = part(Slot(int(_FIRST)), Slot(int(_ROWS)), integers=True)
#: Of joints that are geared together (`nasser_geared`): which coordinate moves a body, which those are; work memory.
groups_of = part(Slot(int(_GROUPS)), _BODIES, integers=True)
leaders_of = part(Slot(int(_LEADERS)), Slot(int(GEARED)), integers=True)
found_of = part(Slot(int(_FOUND)), Slot(int(_SETS)), Slot(int(COORDINATES)))
schur_of = part(Slot(int(_SCHUR)), Slot(int(GEARED)), Slot(int(_WIDTH)))
#: The body of every link, −1 for the base, (links,), and its frame in that body's, (links, FRAME_COLUMNS).
link_bodies_of = part(Slot(int(_LINK_BODIES)), Slot(int(LINKS)), integers=True)
link_frames_of = part(Slot(int(_LINK_FRAMES)), Slot(int(LINKS)), int(FRAME_COLUMNS))


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
    axes = np.where(robot.topology[:, layout.KIND] == layout.FLOATING, 6, 1)
    first = np.concatenate([[0], np.cumsum(axes)])
    moved_by = robot.topology[:, layout.VELOCITY_INDEX]
    leaders = np.flatnonzero(np.bincount(moved_by, minlength=robot.n) > 1)
    groups = np.full(robot.n, -1)
    groups[leaders] = np.arange(len(leaders))
    sets = 1 + len(leaders) if robot.has_mimic else 0
    parts: dict[int, Array] = {
        _TOPOLOGY: robot.topology.ravel().view(np.float64),
        _PARAMETERS: robot.parameters.ravel(),
        _BASE: base,
        _REST: np.zeros(max(12, robot.n)),
        _FIRST: first.astype(np.int64).view(np.float64),
        _GROUPS: groups[moved_by].astype(np.int64).view(np.float64),
        _LEADERS: leaders.astype(np.int64).view(np.float64),
        _LINK_BODIES: np.array([frame.body for frame in frames], dtype=np.int64).view(np.float64),
        _LINK_FRAMES: np.array([[*frame.rotation.ravel(), *frame.position] for frame in frames]).ravel(),
        _WORK: np.zeros(ROOM * (robot.bodies + 1)),
        _AXES: np.zeros(AXES_ROOM * first[-1]),
        _SET_WORK: np.zeros(SETS_ROOM * sets * robot.bodies),
        _FOUND: np.zeros(sets * robot.n),
        _SCHUR: np.zeros(len(leaders) * (2 + len(leaders))),
    }
    head = np.zeros(_HEAD, dtype=np.int64)
    head[_MARK] = _IS_PACKED
    head[COORDINATES], head[POSITIONS], head[LINKS] = robot.n, robot.nq, len(frames)
    head[BODIES], head[_ROWS], head[AXES] = robot.bodies, robot.bodies + 1, first[-1]
    head[CHECKED], head[GEARED] = checked, len(leaders)
    head[_SETS], head[_SET_ROWS], head[_WIDTH] = sets, sets * robot.bodies, 2 + len(leaders)
    start = int(_HEAD)
    for slot, piece in parts.items():
        head[slot] = start
        start += piece.size
    head[_SIZE] = start
    return np.concatenate([head.view(np.float64), *parts.values()])


def base_view(arm: Array) -> Array:
    """The packed base motion (12,) in `arm`, to be written to."""
    start = int(arm.view(np.int64)[_BASE])
    return arm[start : start + 12]


def work_part(columns: int) -> Callable[[Array], Array]:
    """The part of an arm that is work memory, (bodies + 1, columns); `ModelError` for more than there is."""
    return part(Slot(int(_WORK)), Slot(int(_ROWS)), _fitting(columns, ROOM))


def axes_part(columns: int) -> Callable[[Array], Array]:
    """Work memory with a row for each joint axis, as `work_part`."""
    return part(Slot(int(_AXES)), Slot(int(AXES)), _fitting(columns, AXES_ROOM))


def sets_part(columns: int) -> Callable[[Array], Array]:
    """Work memory with a row for each body in each set, as `work_part`."""
    return part(Slot(int(_SET_WORK)), Slot(int(_SET_ROWS)), _fitting(columns, SETS_ROOM))


def _fitting(columns: int, room: int) -> int:
    if columns > room:
        raise ModelError(f"a kernel wants {columns} columns of work memory; a packed arm has {room}")
    return int(columns)


@helper
def head_of(arm: Array, slot: int) -> int:
    """A number of the head: `COORDINATES`, `POSITIONS`, `BODIES`, `LINKS`, `CHECKED`, `GEARED`."""
    return number(arm, slot)


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
