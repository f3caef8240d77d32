"""A plant and its controller as arrays for the compiled loop.

Kernels are compiled anew for arrays that differ in whether they are read-only. Arrays of models are read-only here as
elsewhere, bases are writable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rne_dynamics.control.computed_torque import ComputedTorque
from rne_dynamics.control.pd_gravity import PdGravity
from rne_dynamics.errors import ControlError
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.arrays import OwnCode
from rne_dynamics.simulation.plant.own_code import own_code
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.start import coordinates_of
from rne_dynamics.simulation.rollouts.closed_loop import (
    COMPUTED_TORQUE,
    DONE,
    PD_GRAVITY,
    SUMS,
    Course,
    LawRows,
    PlantRows,
)
from rne_dynamics.simulation.rollouts.cycle_by_cycle import Controller


class PackedLoop(NamedTuple):
    """One plant and one law, in rows of length 1, with the simulated robot and the law's model."""

    robot: RobotModel
    model: RobotModel
    plants: PlantRows
    laws: LawRows


def packed_loop(plant: ArmPlant, controller: Controller) -> PackedLoop | None:
    """The arrays of the compiled loop; None where it cannot run this plant or controller.

    Raises
    ------
    ControlError
        A controller for another number of joints.
    """
    # a subclass may have a law of its own
    if type(controller) not in (ComputedTorque, PdGravity) or plant.base_motion is not None:
        return None
    assert isinstance(controller, (ComputedTorque, PdGravity))
    robot, model = plant.coordinates.open_arm, coordinates_of(controller.robot).open_arm
    if robot is None or model is None:
        return None
    if robot.nq != model.n:
        raise ControlError(
            f"the controller's model {model.name!r} has {model.n} joints, robot {robot.name!r} "
            f"has {robot.nq} positions; the law needs one for each of its joints"
        )
    plants = PlantRows(
        robot.topology, plant.positions, robot.has_mimic, shared(robot.parameters), robot.base_at_rest[None],
        shared(plant.joints),
    )  # fmt: skip
    return PackedLoop(robot, model, plants, law_rows(controller, model))


def own_code_of(packed: PackedLoop, plants: PlantRows, laws: LawRows) -> OwnCode:
    """Machine code for samples of a loop: that of its arm and model, as far as the samples do not change them."""
    own = own_code(packed.robot, packed.plants.joints[0], packed.model)
    here, law = packed.plants, packed.laws
    same_arm = _equal((plants.parameters, here.parameters), (plants.base, here.base))
    same_joints = same_arm and _equal((plants.joints, here.joints))
    same_model = law.kind == COMPUTED_TORQUE and _equal((laws.parameters, law.parameters), (laws.base, law.base))
    chosen = same_arm, same_arm, same_joints, same_model
    return OwnCode(*(address if same else 0 for address, same in zip(own, chosen, strict=True)))


def _equal(*pairs: tuple[Array, Array]) -> bool:
    return all(a is b or np.array_equal(a, b) for a, b in pairs)


def law_rows(controller: ComputedTorque | PdGravity, robot: RobotModel) -> LawRows:
    """One law; `robot` is its own."""
    compensation, smooth, gains = controller.friction_compensation, np.zeros(2), controller.gains
    if compensation is not None:
        smooth[:] = compensation.scale, 1.0 / compensation.velocity_threshold
    return LawRows(
        COMPUTED_TORQUE if isinstance(controller, ComputedTorque) else PD_GRAVITY,
        robot.topology,
        shared(robot.parameters),
        robot.base_at_rest[None],
        shared(np.array([gains.p, gains.i, gains.d, gains.i_clamp])),
        shared(np.array(joint_friction(robot))),
        shared(smooth),
    )


def shared(array: Array) -> Array:
    """One row for all samples: shape (1, …), read-only."""
    return frozen(array[None])


def frozen(array: Array) -> Array:
    """A read-only, contiguous copy."""
    copy = np.array(array, dtype=np.float64, order="C")
    copy.flags.writeable = False
    return copy


def course(q: Array, qd: Array, rows: int, *, terms: bool) -> Course:
    """Samples at their starts, shapes (S, nq) and (S, n), with room for `rows` of the log (and of the terms)."""
    samples, n = qd.shape
    return Course(
        np.array(q, dtype=np.float64, order="C"),
        np.array(qd, dtype=np.float64, order="C"),
        np.zeros((samples, n)),
        np.zeros((samples, n)),
        np.zeros((samples, SUMS, n)),
        np.full(samples, DONE),
        np.zeros((samples, 2), dtype=np.int64),
        np.full((samples if rows else 0, rows, q.shape[1] + 2 * n), np.nan),
        np.full((samples if rows and terms else 0, rows, 5, n), np.nan),
    )
