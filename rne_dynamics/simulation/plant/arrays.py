"""A plant as the stepping kernels take it: one tuple of arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.bending import Flex
from rne_dynamics.simulation.plant.loops import Loops
from rne_dynamics.simulation.surroundings.contact_law import Touch

#: Loads at the bodies where there are none.
NO_WRENCH = np.zeros((0, 6))

# columns of `PlantArrays.joints`: `JointFriction.rows`, then limits
VISCOUS, FORWARD, BACKWARD, STRIBECK, FADING, LOWER, UPPER, EFFORT = range(8)
JOINT_COLUMNS = 8


class PlantRows(NamedTuple):
    """Open arms that are simulated together; S rows, or one for all."""

    #: Of all of them.
    topology: NDArray[np.int64]
    positions: NDArray[np.int64]
    mimic: bool
    #: As the dynamics take them; shapes (S, bodies, COLUMNS), (S, 12).
    parameters: Array
    base: Array
    #: `ArmPlant.joints`; shape (S, n, JOINT_COLUMNS).
    joints: Array


class ArmCode(NamedTuple):
    """Addresses of machine code for one state of an arm whose base is at rest, without loads; 0: none."""

    #: Forward dynamics: (q, qd, tau, lock, nothing, qdd); inertias `lock`, (n,), are added to those of the rotors. A
    #: joint with LOCK there does not move, and −LOCK times its acceleration is the torque that holds it.
    forward: int
    #: The mass matrix and inverse dynamics, as the quantities have them.
    mass_matrix: int
    inverse_dynamics: int


NO_CODE = ArmCode(0, 0, 0)


class OwnCode(NamedTuple):
    """Addresses of machine code for an arm and for the model of its controller, for bases at rest and no loads."""

    #: As `ArmCode.forward`, with numbers of `Columns.arm`: (q, qd, tau, lock, given, qdd).
    forward: int
    #: For one state, if no sample's arm differs.
    one: ArmCode
    #: Forward dynamics of one state without `lock` and `given`, 3 to 6 % faster.
    unlocked: int
    #: `rigid_terms_kernel`: (q, qd, desired, correction, given, terms).
    terms: int
    #: Whether `forward` and `terms` take several states, as `BatchCode.run` does.
    rows: bool


#: Rotor inertia of a joint that does not move. A power of two: products with it are exact.
LOCK = 2.0**200


class PlantArrays(NamedTuple):
    """A plant during one step. Only one side of a branch on None is compiled."""

    #: The robot as the dynamics take it, and whether it has mimic joints. Of a mechanism its tree, of an arm with
    #: flexible links its bodies.
    topology: NDArray[np.int64]
    parameters: Array
    mimic: bool
    #: Motion of the base as `base_at` takes it; shape (12,) or (36,).
    base: Array
    #: As `ArmPlant` has them; shapes (n, JOINT_COLUMNS), (n,).
    joints: Array
    positions: NDArray[np.int64]
    #: Loads at the bodies; shape (bodies, 6), or (0, 6) for none. Where links touch something, of the last evaluation.
    wrenches: Array
    #: Of a mechanism that is stepped in its actuated joints; None otherwise.
    loops: Loops | None
    #: Of an arm with flexible links, whose kernels' q and q̇ are z = [q, δ] and ż; None otherwise.
    flex: Flex | None
    #: Of an open arm whose base is at rest, without loads.
    code: ArmCode
    #: What links may touch; None for nothing.
    touch: Touch | None
