"""Memory of a block: samples of one arm that are stepped together, each vector over samples and joints in a row.

Entry ``sample · n + joint`` of a row belongs to one joint of one sample, so loops over a row do not depend on how many
samples there are. Rows are (samples, n) arrays for `BatchCode.run`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.control import computed_torque as law
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant import arrays
from rne_dynamics.simulation.plant.arrays import JOINT_COLUMNS

# rows of `Block.rows`: state and reference; the law; a step: Coulomb friction included in DRIVE, direction of sliding
# joints with Coulomb friction, inertia of implicit viscous friction, the same or that of locked joints, how the joints
# go on; a stage, sums of stages, the new state; where the decay rate was last evaluated
(
    Q, QD, INTEGRAL, AIM_Q, AIM_QD, AIM_QDD, CORRECTION, FRICTION, ASKED, EFFORT, ERROR,
    DRIVE, DIRECTION, IMPLICIT, LOCK, CHOICE, TAU, QDD, Q_STAGE, QD_STAGE, Q_SUM, QD_SUM, Q_NEW, QD_NEW,
    DIAGONAL, Q_RATED, ROWS,
) = range(27)  # fmt: skip
# what a lane is: stepped with the others; left to other code in this cycle or step; over
ACTIVE, LEFT, OVER = range(3)


class Block(NamedTuple):
    """Memory of up to `width` samples.

    Parameters
    ----------
    rows
        Shape (ROWS, width n).
    joints
        `ArmPlant.joints` of every sample, stops infinite where there are none; shape (JOINT_COLUMNS, width n).
    laws
        `ComputedTorque.table` and the integral's bound of every sample; shape (TABLE_ROWS + 1, width n).
    terms
        `rigid_terms_kernel` of every sample; shape (4 width n,).
    refused
        Set by machine code where its results are not valid; shape (width,).
    lanes
        ACTIVE, LEFT or OVER; shape (width,).
    implicit
        Whether a lane takes the semi-implicit step; shape (width,).
    rate
        Decay rate of viscous friction at Q_RATED, 1/s; infinite where there is none yet; shape (width,).
    """

    rows: Array
    joints: Array
    laws: Array
    terms: Array
    refused: NDArray[np.uint8]
    lanes: NDArray[np.int64]
    implicit: NDArray[np.bool_]
    rate: Array


@helper
def block_of(width: int, n: int) -> Block:
    """Memory for `width` samples."""
    size = width * n
    return Block(
        np.zeros((ROWS, size)), np.zeros((JOINT_COLUMNS, size)), np.zeros((law.TABLE_ROWS + 1, size)),
        np.zeros(4 * size), np.zeros(width, dtype=np.uint8), np.zeros(width, dtype=np.int64),
        np.zeros(width, dtype=np.bool_), np.zeros(width),
    )  # fmt: skip


@helper
def put_joints(block: Block, lane: int, joints: Array, positions: NDArray[np.int64]) -> None:
    """Take over `ArmPlant.joints` of a lane's sample."""
    n = joints.shape[0]
    block.rate[lane] = np.inf
    for j in range(n):
        for column in range(JOINT_COLUMNS):
            block.joints[column, lane * n + j] = joints[j, column]
        if positions[j] < 0:
            block.joints[arrays.LOWER, lane * n + j] = -np.inf
            block.joints[arrays.UPPER, lane * n + j] = np.inf


@helper
def leave(block: Block, lane: int) -> None:
    """Leave an active lane to other code."""
    if block.lanes[lane] == ACTIVE:
        block.lanes[lane] = LEFT
