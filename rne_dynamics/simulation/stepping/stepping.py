"""One step of a simulated arm, the effort held constant."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.generic_rank import generic_rank
from rne_dynamics.dispatch import forward_dynamics
from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches
from rne_dynamics.errors import SimulationError
from rne_dynamics.flexible.forward_dynamics import flexible_forward_dynamics
from rne_dynamics.flexible.theory_range import DIVERGED, deflections, divergence
from rne_dynamics.model.flexible.arm import AnyMachine, FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.simulation.plant.bending import NOT_CONVERGED, Flex
from rne_dynamics.simulation.plant.loops import assemble_ahead
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.state import State
from rne_dynamics.simulation.stepping.collocation import MOST_PARTS
from rne_dynamics.simulation.stepping.events import step_with_events
from rne_dynamics.simulation.stepping.implicit import semi_implicit_step
from rne_dynamics.simulation.stepping.tree_step import ENTER, STRIDE, tree_step

StepMethod = Literal["rk4", "gauss", "semi_implicit"]

_NO_WRENCH = np.zeros((0, 6))


def step_methods(robot: AnyMachine) -> tuple[StepMethod, ...]:
    """The methods that there are for a robot, the one it is stepped by unless another is asked for first."""
    return ("gauss", "rk4", "semi_implicit") if isinstance(robot, FlexibleArm) else ("rk4", "semi_implicit")


def chosen_method(robot: AnyMachine, method: StepMethod | None) -> StepMethod:
    """`method`, or the robot's own where it is None; `SimulationError` for one that there is not."""
    known = step_methods(robot)
    if method is None:
        return known[0]
    if method not in known:
        bends = ", which is for arms with flexible links" if method in get_args(StepMethod) else ""
        raise SimulationError(f"method is {method!r}{bends}; it must be one of {', '.join(map(repr, known))}")
    return method


def step(
    plant: ArmPlant,
    state: State,
    effort: ArrayLike,
    dt: float,
    *,
    method: StepMethod | None = None,
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
        ``"rk4"``, the default for rigid robots: fourth order, reversals and stops located within the step; where
        viscous friction is too stiff for it (decay rate times `dt` above 2) the step is taken as ``"semi_implicit"``
        does.
        ``"gauss"``, the default for arms with flexible links, and only for these: Gauss and Legendre's collocation, the
        same but stable for any friction, frequency and damping; neither does it damp a mode. Links too stiff for
        ``"rk4"`` (frequency times `dt` above 2) are stepped by it as well.
        ``"semi_implicit"``: first order, one evaluation, stable for any friction and frequency. Every step divides the
        amplitude of a mode of frequency ω by √(1 + (ω `dt`)²), as a damping ratio of ω `dt` / 2 would as long as that
        is small: at 1 kHz 0.03 for 10 Hz, 0.3 for 100 Hz.
    wrenches
        Link name to (force, moment), shape (6,), at the link frame's origin in link axes; N, N·m.

    Raises
    ------
    SimulationError
        A wrong effort, step or method; a state that is not finite any more (names the joint and the time); implicit
        equations of flexible links that do not converge however short the step (names the time); a flexible link
        deflected by more than its length (names link and time).
    SingularInertiaError
        A joint that moves no inertia; names it.
    ModelError
        An unknown link in `wrenches`.

    Notes
    -----
    Coulomb friction really sticks: a joint at rest stays exactly where it is while friction can hold it, together
    with all the others through the mass matrix. Stops are inelastic. Both only ever take energy out. A joint that
    breaks loose while the effort is held does so at the start of a step, up to `dt` late.

    A mechanism is stepped in its actuated joints. Where these do not determine the motion it is stepped in the
    coordinates of its whole tree (`tree_step`):

    - near singular postures, from a distance (`MotionMap.smallest`) below 0.2 until one above 0.25;
    - where a joint moves by more than 0.1 rad (or m) in a step, which is divided then;
    - always with idle freedoms, and with more or fewer motors than freedoms.
    """
    method = chosen_method(plant.robot, method)
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
    plant: ArmPlant,
    state: State,
    effort: Array,
    dt: float,
    method: StepMethod,
    loads: Array,
    joints: Array | None = None,
) -> State:
    """`step` for a loop: `effort` already limited, `loads` at the bodies as `bodies_wrenches` gives them.

    `joints`, read-only, takes the place of the plant's own.
    """
    rows = plant.joints if joints is None else joints
    if isinstance(plant.robot, Mechanism) and in_tree(plant.robot, state, dt):
        return tree_step(plant, state, effort, dt, method == "semi_implicit", loads, rows)
    tree, loops, flex = plant.tree, plant.loops(state.posture), plant.flex(method == "gauss")
    z, zd = coordinates_of(state)
    push, base = _writable(effort), plant.base_over(state.t, dt)
    if flex is not None:
        push = np.concatenate([effort, np.zeros(len(zd) - plant.robot.n)])
    left = dt
    while method != "semi_implicit":
        z_new, zd_new = np.empty_like(z), np.empty_like(zd)
        left = step_with_events(
            tree.topology, tree.parameters, loops, flex, base, tree.has_mimic, rows, plant.positions,
            loads, z, zd, push, dt, z_new, zd_new,
        )  # fmt: skip
        if left < dt or flex is None or flex.collocation:
            z, zd = z_new, zd_new
            break
        flex = flex._replace(collocation=True)  # too stiff for Runge and Kutta
    solved = left >= 0.0
    if left > 0.0:
        z_new, zd_new = np.empty_like(z), np.empty_like(zd)
        if plant.base_motion is not None:
            base = plant.base_motion.motion(state.t + dt - left).packed(tree.gravity)
        solved = semi_implicit_step(
            tree.topology, tree.parameters, loops, flex, base, rows, plant.positions,
            loads, z, zd, push, left, z_new, zd_new,
        )  # fmt: skip
        z, zd = z_new, zd_new
    if loops is not None and np.isfinite(z).all() and not (solved and assemble_ahead(loops, z)):
        # the actuated joints do not determine the motion, here or at a stage of the step
        return tree_step(plant, state, effort, dt, method == "semi_implicit", loads, rows)
    if not (solved and np.isfinite(zd).all() and np.isfinite(z).all()):
        _explain(plant, state, flex, zd, effort, dt, solved)
    if flex is not None:
        n = plant.robot.n
        bent = State(state.t + dt, z[:n].copy(), zd[:n].copy(), None, z[n:].copy(), zd[n:].copy())
        refuse_divergence(plant, bent)
        return bent
    if loops is None:
        return State(state.t + dt, z, zd)
    near = bool(loops.distance[0] < ENTER)
    return State(state.t + dt, z, zd, loops.posture, tree_qd=loops.T @ zd, in_tree=near)


def in_tree(mechanism: Mechanism, state: State, dt: float) -> bool:
    """Whether the step from a state is taken in the coordinates of the mechanism's whole tree."""
    fast = state.tree_qd is not None and bool(np.abs(state.tree_qd).max() * dt > STRIDE)
    return state.in_tree or fast or not generic_rank(mechanism).coordinates


def coordinates_of(state: State) -> tuple[Array, Array]:
    """What the kernels call q and q̇: the joints' and, of an arm with flexible links, the deflections' after them."""
    if state.delta is None or state.deltad is None:
        return _writable(state.q), _writable(state.qd)
    return np.concatenate([state.q, state.delta]), np.concatenate([state.qd, state.deltad])


def refuse_divergence(plant: ArmPlant, state: State) -> None:
    """`SimulationError` where a flexible link is deflected by its own length and more."""
    robot = plant.robot
    if not isinstance(robot, FlexibleArm) or state.delta is None or deflections(robot, state.delta).max() < DIVERGED:
        return
    raise SimulationError(f"arm {robot.name!r}: {divergence(robot, state.delta)} (t = {state.t:.6g} s)")


def _explain(
    plant: ArmPlant,
    state: State,
    flex: Flex | None,
    zd: Array,
    effort: Array,
    dt: float,
    solved: bool,
) -> None:
    """Raise for a step that failed."""
    robot, before = plant.robot, np.concatenate(coordinates_of(state))
    rates = coordinates_of(state)[1]
    if not solved and np.isfinite(before).all():
        if not isinstance(robot, FlexibleArm):
            forward_dynamics(robot, state.q, state.qd, effort)  # names the joint without inertia
        elif state.delta is not None and state.deltad is not None:
            flexible_forward_dynamics(robot, state.q, state.delta, state.qd, state.deltad, effort)
        if flex is not None and flex.status[0] == NOT_CONVERGED:
            raise SimulationError(
                f"the implicit equations of the step from t = {state.t:.6g} s do not converge, nor in parts of "
                f"{dt / MOST_PARTS:.3g} s; take a shorter step than {dt:g} s, or check stiffness, masses and gains"
            )
    finite = np.isfinite(zd) if solved else np.isfinite(rates)
    j = int(np.argmin(finite))
    who, unit = f"joint {robot.joint_names[min(j, robot.n - 1)]!r}", "rad/s or m/s"
    if isinstance(robot, FlexibleArm) and j >= robot.n:
        who, unit = f"mode {robot.mode_names[j - robot.n]!r}", "a second"
    raise SimulationError(
        f"{who}: its motion is not finite any more at t = {state.t + dt:.6g} s "
        f"(it was {rates[j]:.6g} {unit} one step before); take a shorter step than {dt:g} s, or check "
        "masses, inertias and gains"
    )


def _writable(array: Array) -> Array:
    # kernels compile anew for arrays that are read-only or not contiguous
    ready = array.flags.writeable and array.flags.c_contiguous and array.dtype == np.float64
    return array if ready else np.array(array, dtype=np.float64)
