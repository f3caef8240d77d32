"""One step of a simulated arm, the effort held constant."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.arguments import Wrenches, bodies_wrenches
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.plants import forward_dynamics
from rne_dynamics.simulation.events import step_with_events
from rne_dynamics.simulation.implicit import semi_implicit_step
from rne_dynamics.simulation.loops import Loops, assemble_ahead, refuse_posture
from rne_dynamics.simulation.plant import ArmPlant
from rne_dynamics.simulation.state import State

StepMethod = Literal["rk4", "semi_implicit"]

_NO_WRENCH = np.zeros((0, 6))


def step(
    plant: ArmPlant,
    state: State,
    effort: ArrayLike,
    dt: float,
    *,
    method: StepMethod = "rk4",
    wrenches: Wrenches | None = None,
) -> State:
    """The state `dt` later, with effort and wrenches held.

    Parameters
    ----------
    plant
        The arm.
    state
        Where it is now.
    effort
        What is asked of the motors, N·m or N, shape (n,); cut at the limits where the plant says so.
    dt
        s, above 0.
    method
        ``"rk4"``: fourth order, reversals and stops located within the step; where viscous friction is too stiff
        for it (decay rate times `dt` above 2) the step is taken as the other method does.
        ``"semi_implicit"``: first order, one evaluation, stable for any friction.
    wrenches
        Link name to (force, moment), shape (6,), at the link frame's origin in link axes; N, N·m.

    Raises
    ------
    SimulationError
        A wrong effort, step or method; a state that is not finite any more (names the joint and the time); a mechanism
        that runs into a singular posture or to where a loop cannot close (names the loop and the time).
    SingularInertiaError
        A joint that moves no inertia; names it.
    ModelError
        An unknown link in `wrenches`.

    Notes
    -----
    Coulomb friction really sticks: a joint at rest stays exactly where it is while friction can hold it, together
    with all the others through the mass matrix. Stops are inelastic. Both only ever take energy out. A joint that
    breaks loose while the effort is held does so at the start of a step, up to `dt` late.
    """
    if method not in get_args(StepMethod):
        raise SimulationError(f"method is {method!r}; it must be one of {', '.join(map(repr, get_args(StepMethod)))}")
    if not (np.isfinite(dt) and dt > 0.0):
        raise SimulationError(f"the step is {dt} s; it must be finite and above 0")
    given = plant.limited(checked_effort(plant, effort))
    loads = _NO_WRENCH if not wrenches else bodies_wrenches(plant.tree, wrenches, ())[0]
    return unchecked_step(plant, state, given, float(dt), method, loads)


def checked_effort(plant: ArmPlant, effort: ArrayLike) -> Array:
    """`effort` as a new array; `SimulationError` for a wrong shape or a number that is not finite (names the joint)."""
    array = np.array(effort, dtype=np.float64)
    robot = plant.robot
    if array.shape != (robot.n,):
        raise SimulationError(f"the effort has shape {array.shape}; robot {robot.name!r} needs ({robot.n},)")
    finite = np.isfinite(array)
    if not finite.all():
        j = int(np.argmin(finite))
        raise SimulationError(f"the effort of joint {robot.joint_names[j]!r} is {array[j]}; it must be finite")
    return array


def unchecked_step(
    plant: ArmPlant, state: State, effort: Array, dt: float, method: StepMethod, loads: Array
) -> State:
    """`step` for a loop: `effort` already limited, `loads` at the bodies as `bodies_wrenches` gives them."""
    robot, tree = plant.robot, plant.tree
    loops = plant.loops(state.posture)
    q, qd = np.empty(robot.nq), np.empty(robot.n)
    start = _writable(state.q), _writable(state.qd)
    effort = _writable(effort)
    left = dt
    if method == "rk4":
        left = step_with_events(
            tree.topology, tree.parameters, loops, tree.base_at_rest, tree.has_mimic, plant.joints, plant.positions,
            loads, *start, effort, dt, q, qd,
        )  # fmt: skip
        start = q, qd
    solved = left >= 0.0
    if left > 0.0:
        q, qd = np.empty(robot.nq), np.empty(robot.n)
        solved = semi_implicit_step(
            tree.topology, tree.parameters, loops, tree.base_at_rest, plant.joints, plant.positions,
            loads, *start, effort, left, q, qd,
        )  # fmt: skip
    if not (solved and np.isfinite(qd).all() and np.isfinite(q).all()):
        _explain(plant, state, loops, qd, effort, dt, solved)
    if loops is None:
        return State(state.t + dt, q, qd)
    if not assemble_ahead(loops, q) and isinstance(robot, Mechanism):
        refuse_posture(robot, loops, state.t)
    return State(state.t + dt, q, qd, loops.posture)


def _explain(
    plant: ArmPlant, state: State, loops: Loops | None, qd: Array, effort: Array, dt: float, solved: bool
) -> None:
    """Raise for a step that failed."""
    robot = plant.robot
    if not solved and np.isfinite(state.q).all() and np.isfinite(state.qd).all():
        if isinstance(robot, Mechanism) and loops is not None:
            refuse_posture(robot, loops, state.t)
        forward_dynamics(robot, state.q, state.qd, effort)  # names the joint without inertia
    finite = np.isfinite(qd) if solved else np.isfinite(state.qd)
    j = int(np.argmin(finite))
    raise SimulationError(
        f"joint {robot.joint_names[j]!r}: its motion is not finite any more at t = {state.t + dt:.6g} s "
        f"(it was {state.qd[j]:.6g} rad/s or m/s one step before); take a shorter step than {dt:g} s, or check "
        "masses, inertias and gains"
    )


def _writable(array: Array) -> Array:
    # kernels compile anew for arrays that are read-only or not contiguous
    ready = array.flags.writeable and array.flags.c_contiguous and array.dtype == np.float64
    return array if ready else np.array(array, dtype=np.float64)
