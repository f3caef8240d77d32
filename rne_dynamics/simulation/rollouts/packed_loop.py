"""A plant and its controller as arrays and machine code for the compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.control_law import ControlLaw
from rne_dynamics.control.laws import computed_torque as law
from rne_dynamics.control.laws.computed_torque import ComputedTorque, decay_rate
from rne_dynamics.control.laws.pd_gravity import PdGravity
from rne_dynamics.control.model_terms import rigid_terms_kernel
from rne_dynamics.dynamics.composite.mass_matrix import MASS_MATRIX
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.declared.specialised import efforts_parameters, kept_code, kept_rows
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.dynamics.newton_euler.newton_euler import INVERSE_DYNAMICS
from rne_dynamics.model.dice import Dice, random_configuration
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import MASS, ROTOR
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.arrays import JOINT_COLUMNS, LOWER, NO_CODE, UPPER, ArmCode, OwnCode, PlantRows
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.closed_loop import (
    COMPUTED_TORQUE,
    DONE,
    PD_GRAVITY,
    SUMS,
    WIDTH,
    Columns,
    Course,
    LawRows,
)
from rne_dynamics.simulation.stepping.motion import locked_forward
from rne_dynamics.straight_line.recipe import Recipe


def packed_loop(plant: ArmPlant, controller: ControlLaw) -> tuple[PlantRows, LawRows] | None:
    """The arrays of the compiled loop, in rows of length 1; None where it cannot run this plant or controller."""
    # a subclass may have a law of its own
    if type(controller) not in (ComputedTorque, PdGravity) or plant.base_motion or plant.surroundings:
        return None
    assert isinstance(controller, (ComputedTorque, PdGravity))
    robot, model, gains = plant.robot, controller.robot, controller.gains
    if robot.kind != "arm" or model.kind != "arm" or robot.nq != robot.n:
        return None
    plants = PlantRows(
        robot.topology, plant.positions, robot.has_mimic, robot.parameters[None], robot.base_at_rest[None],
        plant.joints[None],
    )  # fmt: skip
    compensation = controller.friction_compensation
    laws = LawRows(
        COMPUTED_TORQUE if isinstance(controller, ComputedTorque) else PD_GRAVITY, model.topology,
        model.parameters[None], model.base_at_rest[None], np.array([gains.p, gains.i, gains.d, gains.i_clamp])[None],
        joint_friction(model).rows[None], np.array([[0.0 if compensation is None else compensation.scale]]),
        controller.steepness[None],
    )  # fmt: skip
    return plants, laws


def own_code_of(
    robot: RobotModel, model: RobotModel, plants: PlantRows, laws: LawRows, *, rows: bool
) -> tuple[OwnCode, Columns]:
    """Machine code for samples of a loop, one at a time or in `rows`, and their numbers as the loop reads them.

    `robot` and `model` are those of the arm and of its law without changes.
    """
    same_arm, same_model = _same(robot, plants.parameters, plants.base), _same(model, laws.parameters, laws.base)
    own = robot, "locked forward", _forward_rows, (robot.has_mimic,), (robot.n,)
    forward = _address(*own, rows, same_arm)
    terms = _address(model, "control terms", _terms_rows, (), (5, robot.n), rows, same_model)
    one, unlocked = NO_CODE, 0
    if robot.specialised and same_arm:
        whole = (_whole(robot, quantity) for quantity in (MASS_MATRIX, INVERSE_DYNAMICS))
        one = ArmCode(_address(*own, False, True), *whole)
        unlocked = 0 if rows else _whole(robot, FORWARD_DYNAMICS)
    columns = Columns(
        joint_columns(plants), law_columns(laws), given(plants.parameters, plants.base, same_arm),
        given(laws.parameters, laws.base, same_model),
    )  # fmt: skip
    return OwnCode(forward, one, unlocked, terms, rows), columns


def _whole(robot: RobotModel, quantity: Quantity) -> int:
    """Address of the code of a quantity for one state; 0 where there is none."""
    code = quantity.code(robot)
    return 0 if code is None else code.address


def _address(
    robot: RobotModel, name: str, kernel: Callable[..., Any], more: tuple[Any, ...], shape: tuple[int, ...],
    rows: bool, same: bool,
) -> int:
    """Address of the code of a kernel of rows of (q, qd, two more, given); 0 where there is none."""

    def recipe() -> Recipe:
        model = robot.topology, efforts_parameters(robot) if same else robot.parameters, robot.base_at_rest, *more
        rng = Dice(1)
        numbers = given(robot.parameters[None], robot.base_at_rest[None], same)[0]
        sample = random_configuration(robot, rng), *(rng.uniform(0.0, 1.0, (robot.n,)) for _ in range(3)), numbers
        return Recipe(name, robot.name, kernel, model, (), sample, shape)

    if not robot.specialised:
        return 0
    code = kept_rows(robot, (name, same), recipe) if rows else kept_code(robot, (name, same), recipe)
    return 0 if code is None else code.address


def given(parameters: Array, base: Array, same: bool) -> Array:
    """What machine code takes of each sample besides its state: inertias and gravity, if they vary; (S, numbers)."""
    if same:
        return np.zeros((WIDTH, 0))
    count = max(len(parameters), len(base))
    inertia = parameters[:, :, MASS : ROTOR + 1].reshape(len(parameters), -1)
    return np.hstack([np.broadcast_to(x, (count, x.shape[1])) for x in (inertia, base[:, 6:9])])


def _varied(parameters: Array, base: Array, given: Array) -> tuple[Array, Array]:
    """Parameters and base with the numbers of `given`."""
    if len(given) == 0:
        return parameters, base
    parameters, base = parameters.copy(), base.copy()
    parameters[:, MASS : ROTOR + 1] = given[:-3].reshape(len(parameters), -1)
    base[6:9] = given[-3:]
    return parameters, base


def _forward_rows(
    topology: NDArray[np.int64], parameters: Array, base: Array, mimic: bool, q: Array, qd: Array, tau: Array,
    lock: Array, given: Array, out: Array,
) -> int:  # fmt: skip
    """`locked_forward` of each state, (B, n); −1, or what moves no inertia."""
    fault = -1
    for b in range(q.shape[0]):
        arm = Arm(topology, *_varied(parameters, base, given[b]), np.zeros((0, 6)))
        fault = max(fault, locked_forward(arm, mimic, q[b], qd[b], tau[b], lock[b], out[b]))
    return fault


def _terms_rows(
    topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, desired: Array,
    correction: Array, given: Array, out: Array,
) -> None:  # fmt: skip
    """The rows of `rigid_terms_kernel` of each state, and one of zeros; (B, 5, n)."""
    for b in range(q.shape[0]):
        here = _varied(parameters, base, given[b])
        rigid_terms_kernel(topology, *here, q[b], qd[b], desired[b], correction[b], out[b])


def joint_columns(plants: PlantRows) -> Array:
    """`Columns.joints`."""
    columns = np.empty((JOINT_COLUMNS, _at_least_a_block(len(plants.joints)), plants.joints.shape[1]))
    columns[:] = np.moveaxis(plants.joints, 2, 0)
    free = plants.positions < 0
    columns[LOWER][:, free], columns[UPPER][:, free] = -np.inf, np.inf
    return columns.reshape(JOINT_COLUMNS, -1)


def law_columns(laws: LawRows) -> Array:
    """`Columns.laws`."""
    p, i, d, clamp = np.moveaxis(laws.gains, 1, 0)
    friction, scale, steepness = np.moveaxis(laws.friction, 1, 0), laws.scale, laws.steepness
    rate = np.vectorize(decay_rate)(p, d) if laws.kind == COMPUTED_TORQUE else np.zeros_like(p)
    with np.errstate(invalid="ignore", over="ignore"):  # samples with such numbers are refused
        answer = scale * friction[0] * rate
    columns = np.empty((law.TABLE_ROWS + 1, _at_least_a_block(max(len(p), len(scale), len(friction[0]))), p.shape[1]))
    for row, numbers in enumerate((p, d, i, *friction, scale, steepness, answer, clamp)):
        columns[row] = numbers
    return columns.reshape(law.TABLE_ROWS + 1, -1)


def _at_least_a_block(count: int) -> int:
    """The number of rows for that of samples that differ."""
    return count if count > 1 else WIDTH


def _same(robot: RobotModel, parameters: Array, base: Array) -> bool:
    """Whether all samples are as the robot."""
    return np.array_equal(parameters, robot.parameters[None]) and np.array_equal(base, robot.base_at_rest[None])


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
