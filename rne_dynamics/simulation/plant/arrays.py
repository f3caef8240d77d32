"""A plant as the stepping kernels take it: one tuple of arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.bending import Flex
from rne_dynamics.simulation.plant.loops import Loops

#: Loads at the bodies where there are none.
NO_WRENCH = np.zeros((0, 6))

# columns of `PlantArrays.joints`
VISCOUS, FORWARD, BACKWARD, LOWER, UPPER, EFFORT = range(6)
JOINT_COLUMNS = 6


class OwnCode(NamedTuple):
    """Addresses of machine code for one arm, for a base at rest and no loads; each is 0 where there is none.

    Parameters
    ----------
    forward
        Forward dynamics: (q, qd, tau, lock, qdd); inertias `lock`, (n,), are added to those of the rotors. A joint
        with LOCK there does not move, and −LOCK times its acceleration is the torque that holds it.
    forward_unlocked
        The same without `lock`, 4 to 9 % faster: (q, qd, tau, qdd).
    response
        (q, qd, out): M, M⁻¹ and bias torque into the rows of `out`, (2 n + 1, n).
    inverse_diagonal
        (q, out): (M⁻¹)_jj into `out`, (n,).
    terms
        Of the controller's model: (q, qd, desired, correction, out), `rigid_terms_kernel` into `out`, (4, n).
    forward_rows, inverse_diagonal_rows, terms_rows
        The same for several states, as `BatchCode.run` takes them.
    """

    forward: int
    forward_unlocked: int
    response: int
    inverse_diagonal: int
    terms: int
    forward_rows: int
    inverse_diagonal_rows: int
    terms_rows: int


#: Where there is no machine code.
NO_CODE = OwnCode(0, 0, 0, 0, 0, 0, 0, 0)
#: Rotor inertia of a joint that does not move. A power of two: products with it are exact.
LOCK = 2.0**200


class PlantArrays(NamedTuple):
    """A plant during one step.

    Only one side of a branch on None is compiled. Helpers that depend on the
    kind of robot therefore take `loops` and `flex` as arguments next to a plant `without_loops_and_flex`. All others
    take that plant alone: they are the same for every kind of robot, and pass on no arrays that they do not read.

    Parameters
    ----------
    topology, parameters, mimic
        The robot as the dynamics take it, and whether it has mimic joints. Of a mechanism its tree, of an arm with
        flexible links its bodies.
    base
        Motion of the base as `base_at` takes it; shape (12,) or (36,).
    joints, positions
        As `ArmPlant` has them; shapes (n, JOINT_COLUMNS), (n,).
    wrenches
        Loads at the bodies; shape (bodies, 6), or (0, 6) for none.
    loops
        Of a mechanism that is stepped in its actuated joints; None otherwise.
    flex
        Of an arm with flexible links, whose kernels' q and q̇ are z = [q, δ] and ż; None otherwise.
    code
        Of an open arm whose base is at rest, without loads.
    """

    topology: NDArray[np.int64]
    parameters: Array
    mimic: bool
    base: Array
    joints: Array
    positions: NDArray[np.int64]
    wrenches: Array
    loops: Loops | None
    flex: Flex | None
    code: OwnCode


@helper
def without_loops_and_flex(plant: PlantArrays) -> PlantArrays:
    """A plant without `loops` and `flex`."""
    return PlantArrays(
        plant.topology, plant.parameters, plant.mimic, plant.base, plant.joints, plant.positions, plant.wrenches,
        None, None, plant.code,
    )  # fmt: skip
