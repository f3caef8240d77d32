"""A model in one flat array, as compiled functions take it.

Every array argument of a compiled function costs a call from Python as much as a quarter of the recursion over a
six-joint arm. So topology, parameters, base motion and link frames lie behind one another in one array of float64,
behind a head of integers with their places. The array is opaque to callers, who get it from `packed`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.addresses import PROCESS, process
from rne_dynamics.compiling.jit import helper
from rne_dynamics.compiling.views import Slot, number, overlaps, part
from rne_dynamics.model import layout
from rne_dynamics.model.bodies import Bodies
from rne_dynamics.spatial.columns import columns

Array = NDArray[np.float64]

#: Quantities of which an array may have the address of machine code for the robot alone.
WITH_OWN_CODE = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_torque", "gravity_torque", "coriolis_matrix",
    "regressor", "inverse_dynamics_derivatives", "integrate_configuration",
)  # fmt: skip
# the head: a mark that the array is a model, its length, sizes, two switches, where each part begins, and addresses
(
    _MARK, _SIZE, COORDINATES, POSITIONS, BODIES, LINKS, CHECKED, MIMIC,
    _TOPOLOGY, _PARAMETERS, _BASE, _LINK_BODIES, _LINK_FRAMES, _PROCESS, _CODE, _HEAD,
) = columns(*(1,) * 14, len(WITH_OWN_CODE))  # fmt: skip
_IS_PACKED = np.int64(0x52_4E_45_41_52_4D_32)

#: Columns of a link's frame in its body's: R_BL row after row, p_BL.
FRAME_ROTATION, FRAME_POSITION, FRAME_COLUMNS = columns(9, 3)

#: What compiled functions return: the answer is in place; the first argument is no such array; an array of a wrong
#: shape; an output that lies in the memory of an input; NaN or infinity; a joint that moves no inertia;
#: a link that there is not.
OK, NOT_AN_ARM, WRONG_SHAPE, OVERLAPPING, NOT_FINITE, NO_INERTIA, NO_SUCH_LINK = range(7)

_BODIES = Slot(int(BODIES))
#: The model's `topology` and `parameters`.
topology_of = part(Slot(int(_TOPOLOGY)), _BODIES, layout.TOPOLOGY_COLUMNS, integers=True)
parameters_of = part(Slot(int(_PARAMETERS)), _BODIES, int(layout.COLUMNS))
#: The base motion (12,), and external loads where there are none, (0, 6).
base_of, no_loads_of = part(Slot(int(_BASE)), 12), part(Slot(int(_BASE)), 0, 6)
#: The body of every link, −1 for the base, (links,), and its frame in that body's, (links, FRAME_COLUMNS).
link_bodies_of = part(Slot(int(_LINK_BODIES)), Slot(int(LINKS)), integers=True)
link_frames_of = part(Slot(int(_LINK_FRAMES)), Slot(int(LINKS)), int(FRAME_COLUMNS))


def packed(robot: Bodies, base: Array, *, checked: bool) -> Array:
    """The robot in one array; see `RobotModel.pack`.

    Parameters
    ----------
    robot
        The model's bodies.
    base
        Base motion as `BaseMotion.packed` gives it, (12,).
    checked
        Whether functions that are given the array look for NaN and infinity in their arguments.
    """
    frames = tuple(robot.links.values())
    parts: dict[int, Array] = {
        _TOPOLOGY: robot.topology.ravel().view(np.float64),
        _PARAMETERS: robot.parameters.ravel(),
        _BASE: base,
        _LINK_BODIES: np.array([frame.body for frame in frames], dtype=np.int64).view(np.float64),
        _LINK_FRAMES: np.array([[*frame.rotation.ravel(), *frame.position] for frame in frames]).ravel(),
    }
    head = np.zeros(_HEAD, dtype=np.int64)
    head[_MARK] = _IS_PACKED
    head[COORDINATES], head[POSITIONS], head[BODIES], head[LINKS] = robot.n, robot.nq, len(robot.topology), len(frames)
    head[CHECKED], head[MIMIC] = checked, layout.has_mimic(robot.topology)
    start = int(_HEAD)
    for slot, piece in parts.items():
        head[slot] = start
        start += piece.size
    head[_SIZE] = start
    return np.concatenate([head.view(np.float64), *parts.values()])


def put_own_code(arm: Array, addresses: Mapping[str, int]) -> None:
    """Put addresses of machine code for the robot alone, by quantity, into an array; used in this process only."""
    head = arm.view(np.int64)
    head[_PROCESS] = PROCESS
    for quantity, address in addresses.items():
        head[_CODE + WITH_OWN_CODE.index(quantity)] = address


def base_view(arm: Array) -> Array:
    """The base motion (12,) in `arm`, to be written to."""
    start = int(arm.view(np.int64)[_BASE])
    return arm[start : start + 12]


@helper
def head_of(arm: Array, slot: int) -> int:
    """A number of the head: `COORDINATES`, `POSITIONS`, `BODIES`, `LINKS`, `CHECKED`, `MIMIC`."""
    return number(arm, slot)


@helper
def own_code(arm: Array, place: int) -> int:
    """Address of the machine code for the robot alone, of that number in `WITH_OWN_CODE`; 0 where there is none."""
    return number(arm, _CODE + place) if place >= 0 and number(arm, _PROCESS) == process() else 0


@helper
def _all_finite(values: Array) -> bool:
    finite = True
    for k in range(values.shape[0]):
        finite &= np.isfinite(values[k])
    return finite


@helper
def refusal(arm: Array, q: Array, *others: Array) -> int:
    """`OK`, or why a model array, positions, and velocities and other vectors (n,) cannot be used."""
    if arm.shape[0] < _HEAD or head_of(arm, _MARK) != _IS_PACKED or head_of(arm, _SIZE) != arm.shape[0]:
        return NOT_AN_ARM
    if q.shape[0] != head_of(arm, POSITIONS):
        return WRONG_SHAPE
    n, checked = head_of(arm, COORDINATES), head_of(arm, CHECKED) != 0
    for x in others:
        if x.shape[0] != n:
            return WRONG_SHAPE
    for x in (q, *others):
        if checked and not _all_finite(x):
            return NOT_FINITE
    return OK


@helper
def shared(out: Array, *inputs: Array) -> bool:
    """Whether the output lies in the memory of one of the inputs."""
    for given in inputs:  # noqa: SIM110  kernels have no `any`
        if overlaps(out, given):
            return True
    return False
