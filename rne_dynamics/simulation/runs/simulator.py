"""A simulated arm for control loops, with the interface of hardware.

The only mutable object of this package: it holds the state, the last command, and whether the brakes are on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.apart import load_all
from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.mismatch.different_arm import DifferentArm, phases_of
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.plant.arrays import LOWER, NO_WRENCH, UPPER
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.state import State
from rne_dynamics.simulation.stepping.stepping import (
    StepMethod,
    checked_effort,
    chosen_method,
    methods_within,
    step,
    unchecked_step,
)

TimeoutReaction = Literal["zero_effort", "brake"]


class Simulator:
    """A simulated arm with drives and brakes.

    Parameters
    ----------
    plant
        The arm.
    q, qd
        Start; shapes (nq,) and (n,), at rest unless `qd` is given.
    delta, deltad
        Deflections of flexible links at the start, as for `checked_state`; those under gravity at rest by default.
    dt
        Step, s.
    method
        See `step`.
    hold_until_command
        Whether the brakes hold the joints until the first command arrives. Otherwise the arm falls from the start, at
        zero effort.
    command_timeout
        Simulated time after which a command expires, s; with `None` it never does.
    on_timeout
        Reaction to that, until the next command: ``"zero_effort"``, as of most drives (the arm falls, slowed by its
        friction), or ``"brake"``: brakes hold at once. Flexible links vibrate on with braked joints.
    mismatch
        What else differs between the arm and its model; its script begins with the first command.

    Raises
    ------
    SimulationError
        A start that is not finite, of a wrong shape or outside the stops; times that are not above 0; a delay of the
        mismatch that is no whole number of steps.
    ArgumentError, ModelError
        A mismatch that this arm cannot have.
    """

    _state: State

    def __init__(
        self,
        plant: ArmPlant,
        q: ArrayLike,
        qd: ArrayLike | None = None,
        *,
        dt: float = 1e-3,
        delta: ArrayLike | None = None,
        deltad: ArrayLike | None = None,
        method: StepMethod | None = None,
        hold_until_command: bool = True,
        command_timeout: float | None = None,
        on_timeout: TimeoutReaction = "zero_effort",
        mismatch: Mismatch | None = None,
    ) -> None:
        for name, value in (("dt", dt), ("command_timeout", command_timeout)):
            if value is not None and not (np.isfinite(value) and value > 0.0):
                raise SimulationError(f"{name} is {value} s; it must be finite and above 0")
        if on_timeout not in get_args(TimeoutReaction):
            known = ", ".join(map(repr, get_args(TimeoutReaction)))
            raise SimulationError(f"on_timeout is {on_timeout!r}; it must be one of {known}")
        self.method = chosen_method(plant, method)
        self._start = plant.start(q, qd, delta=delta, deltad=deltad)
        self.plant = plant
        self.dt = float(dt)
        self.hold_until_command = hold_until_command
        self.command_timeout = command_timeout
        self.on_timeout: TimeoutReaction = on_timeout
        self._mismatch = mismatch
        self._phases = () if mismatch is None else phases_of(plant, mismatch)
        self._begin(self._start)
        self._zero: Array = np.zeros(plant.robot.n)
        self._effort: Array = self._zero
        self._commanded_at: float | None = None

    @property
    def state(self) -> State:
        """The present state."""
        return self._state

    @property
    def braked(self) -> bool:
        """Whether the brakes hold the arm: before the first command, or after a timeout, as set."""
        if self._commanded_at is None:
            return self.hold_until_command
        return self.timed_out and self.on_timeout == "brake"

    @property
    def timed_out(self) -> bool:
        """Whether the last command is older than `command_timeout`."""
        if self.command_timeout is None or self._commanded_at is None:
            return False
        # slightly less than a step, so that round-off in the time cannot add a step
        return self._state.t - self._commanded_at >= self.command_timeout - 1e-6 * self.dt

    @property
    def applied_effort(self) -> Array:
        """The motors' present effort, limited, N·m or N; zero where brakes hold; shape (n,), a copy."""
        if self._commanded_at is None or self.timed_out:
            return np.zeros_like(self._effort)
        return np.array(self._effort)

    def command(self, effort: ArrayLike) -> None:
        """Take a new effort, N·m or N, shape (n,); it is held until the next one and releases the brakes.

        Raises
        ------
        SimulationError
            A wrong shape or a number that is not finite; the former command stays valid.
        """
        given = self.plant.limited(checked_effort(self.plant, effort))
        self._commanded_at = self._state.t
        if self._arm is None:
            self._effort = given
        else:
            self._arm.send(self._steps, given)
            self._effort = self._arm.drive(self._steps)

    def measured(self) -> tuple[Array, Array]:
        """Positions and velocities as encoders measure them, (n,) each; with a mismatch each time with new noise."""
        return (self._state.q, self._state.qd) if self._arm is None else self._arm.measured()

    def advance(self, steps: int = 1, wrenches: Wrenches | None = None) -> State:
        """Let `steps` steps of simulated time pass, with wrenches held as for `step`; returns the new state.

        Raises
        ------
        SimulationError, SingularInertiaError, ModelError
            As for `step`. The state stays that of the last good step.
        """
        loads = NO_WRENCH if not wrenches else bodies_wrenches(self.plant.tree, wrenches, ())[0]
        for _ in range(steps):
            now = self._state
            if self.braked:
                self._state = self._held(now, loads)
                continue
            effort = self._zero if self._commanded_at is None or self.timed_out else self._effort
            self._state = self._stepped(now, effort, loads)
        return self._state

    def _stepped(self, now: State, effort: Array, loads: Array) -> State:
        """One step under `effort`, (n,), with the brakes off."""
        if self._arm is not None:
            if self._commanded_at is not None:
                self._arm.pass_to(self._steps * self.dt)
                if not self.timed_out:
                    effort = self._effort = self._arm.drive(self._steps)
                self._steps += 1
            self._arm.advance(effort, loads)
            return self._arm.state
        return unchecked_step(self.plant, now, effort, self.dt, self.method, loads)

    def _held(self, now: State, loads: Array) -> State:
        """One step with the brakes on."""
        state = self._braked_step(now, loads)
        if self._arm is not None:
            self._arm.put(state)
            self._steps += self._commanded_at is not None
        return state

    def _braked_step(self, now: State, loads: Array) -> State:
        if not self.plant.coordinates.moves_when_braked:
            rates = None if now.tree_qd is None else np.zeros_like(now.tree_qd)
            return replace(now, t=now.t + self.dt, qd=self._zero, tree_qd=rates)
        # a brake is a stop on both sides of the joint: it takes the joint's momentum; links and loose passive joints
        # move on
        n, held = self.plant.robot.n, self.plant.joints.copy()
        held[:n, LOWER] = held[:n, UPPER] = now.q
        return unchecked_step(self.plant, now, self._zero, self.dt, self.method, loads, held)

    def reset(self) -> State:
        """Return to the start, with its brakes. Time continues: clocks must not run backwards."""
        self._begin(replace(self._start, t=self._state.t))
        self._effort = self._zero
        self._commanded_at = None
        return self._state

    def place(self, q: ArrayLike) -> State:
        """Put the arm at rest at other joint positions, (nq,); a mechanism on its present branch. Time continues.

        Raises
        ------
        SimulationError, AssemblyError, ModelError
            As for the start; the state stays.
        """
        state = self.plant.start(q, t=self._state.t, posture=self._state.posture)
        self._begin(state)
        return state

    def _begin(self, state: State) -> None:
        """Go on from a state at rest, with the script at its begin."""
        self._state = state
        self._steps = 0
        self._arm: DifferentArm | None = None
        if self._mismatch is not None:
            self._arm = DifferentArm(self._phases, self._mismatch, state, self.dt, self.method)

    def warm_up(self) -> None:
        """Compile everything a step may need, so that no later step stalls. Changes nothing."""
        loops = self.plant.coordinates.mechanism is not None
        for method in methods_within(self.method, self.plant.coordinates):
            for state in (self._start, replace(self._start, in_tree=loops)):
                step(self.plant, state, self._zero, self.dt, method=method)
        if self._mismatch is not None:
            for phase in self._phases:
                DifferentArm((phase,), self._mismatch, self._start, self.dt, self.method).advance(self._zero)
        load_all()
