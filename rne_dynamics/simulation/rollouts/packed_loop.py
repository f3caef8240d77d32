"""A plant and its controller as arrays for the compiled loop.

Kernels are compiled anew for arrays that differ in whether they are read-only. Arrays of models are read-only here as
elsewhere, bases are writable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rne_dynamics.control.computed_torque import ComputedTorque
from rne_dynamics.control.control_law import ControlLaw
from rne_dynamics.control.pd_gravity import PdGravity
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.arrays import NO_CODE, OwnCode
from rne_dynamics.simulation.plant.own_code import own_code
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.start import coordinates_of
from rne_dynamics.simulation.rollouts.closed_loop import COMPUTED_TORQUE, PD_GRAVITY, LawRows, PlantRows
from rne_dynamics.simulation.rollouts.smooth_cycles import DONE, SUMS, Course


class PackedLoop(NamedTuple):
    """One plant and one law, in rows of length 1, with the simulated robot and the law's model."""

    robot: RobotModel
    model: RobotModel
    plants: PlantRows
    laws: LawRows


def packed_loop(plant: ArmPlant, controller: ControlLaw) -> PackedLoop | None:
    """The arrays of the compiled loop; None where it cannot run this plant or controller."""
    # a subclass may have a law of its own
    if type(controller) not in (ComputedTorque, PdGravity) or plant.base_motion is not None:
        return None
    assert isinstance(controller, (ComputedTorque, PdGravity))
    robot, model = plant.coordinates.open_arm, coordinates_of(controller.robot).open_arm
    if robot is None or model is None:
        return None
    plants = PlantRows(
        robot.topology, plant.positions, robot.has_mimic, shared(robot.parameters), robot.base_at_rest[None],
        shared(plant.joints),
    )  # fmt: skip
    return PackedLoop(robot, model, plants, law_rows(controller, model))


def own_code_of(packed: PackedLoop, plants: PlantRows, laws: LawRows, *, rows: bool) -> OwnCode:
    """Machine code for samples of a loop: that of its arm and model, as far as the samples do not change them.

    `rows`: for several samples at a time too.
    """
    here, law = packed.plants, packed.laws
    same_arm = _equal((plants.parameters, here.parameters), (plants.base, here.base))
    same_model = law.kind == COMPUTED_TORQUE and _equal((laws.parameters, law.parameters), (laws.base, law.base))
    several = rows and same_arm
    key = ("addresses", id(packed.model), several)
    if key not in packed.robot.own_code:  # with the model, whose id is then not given to another one
        packed.robot.own_code[key] = own_code(packed.robot, packed.model, rows=several), packed.model
    own = packed.robot.own_code[key][0]
    if not same_model:
        own = own._replace(terms=0, terms_rows=0)
    return own if same_arm else NO_CODE._replace(terms=own.terms, terms_rows=0)


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
        np.full((3, samples if rows else 0, rows, n), np.nan),
        np.empty((5, samples if rows and terms else 0, rows, n)),
    )
