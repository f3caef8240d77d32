"""Predicted state at which an effort will act: forward dynamics over the delay, under the efforts sent before."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.control_law import check_delay
from rne_dynamics.control.thresholds import LONGEST_DELAY, NANOSECONDS
from rne_dynamics.control.tracking_law import joint_compensation
from rne_dynamics.dynamics.composite.mass_matrix import WALKER_ORIN
from rne_dynamics.dynamics.declared.arguments import Arm, BaseMotion, arm_of, packed_base
from rne_dynamics.dynamics.declared.quantity import Compiled
from rne_dynamics.dynamics.forward_dynamics import nasser_kernel
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import MASS, ROTOR, VELOCITY_INDEX, columns

#: Efforts that are remembered: those of 50 ms at 2.5 kHz.
REMEMBERED = 128
#: Most steps over the delay; efforts that act for a shorter time are averaged.
MOST_STEPS = 8
#: Longest period of states that counts, ns, and the weight of a new one in their average.
LONGEST_PERIOD, AVERAGED = NANOSECONDS // 100, 0.05
#: Longest prediction, ns: a delay and the age of the state that is answered.
LONGEST = round(2.0 * LONGEST_DELAY * NANOSECONDS)

# rows of what the kernel needs of a joint: body behind its motor, rotor inertia, `JointFriction.rows`, 1 / threshold
_BODY, _ROTOR, _VISCOUS, _FORWARD, _BACKWARD, _STRIBECK, _FADING, _STEEPNESS, _ROWS = columns(*[1] * 8)
# rows of its memory: position and velocity, which it moves on, desired velocity; the rest is work memory
_Q, _QD, _AIM, _WORK, _MEMORY = columns(1, 1, 1, 6)


class Predictor:
    """Predicts an open arm's state at the time at which the next effort acts.

    An effort that answers the state of a stamp acts `delay` s later, on average for half a period of the states longer.
    Until then those act that were sent `before`; the model says what they do. A law that answers for the predicted
    state has no delay left in its loop, as far as the model is right.
    """

    def __init__(
        self, law: Any, delay: float, compensated: frozenset[str] = frozenset(), before: Predictor | None = None
    ) -> None:
        check_delay(law, delay)
        if not delay > 0.0:
            raise ControlError("the command delay is 0: there is nothing to predict")
        robot = law.robot.open_tree
        n = robot.n
        #: ns
        self.delay = round(delay * NANOSECONDS)
        falling = BaseMotion(linear_acceleration=robot.gravity) if "gravity" in compensated else None
        arm = arm_of(robot, packed_base(robot, falling, ())[0])
        self._arm = arm._replace(parameters=arm.parameters.copy())  # the kernel changes rotors
        self._predict = _PREDICTIONS[robot.has_mimic]
        self._coriolis = "coriolis" not in compensated
        self._joints = _joint_rows(law, friction="friction" not in compensated)
        self._times, self._efforts = np.zeros(REMEMBERED, np.int64), np.zeros((REMEMBERED, n))
        self._newest, self._count, self._stamp, self._period = 0, 0, 0, 0.0
        if before is not None:
            self._times, self._efforts = before._times, before._efforts
            self._newest, self._count = before._newest, before._count
            self._stamp, self._period = before._stamp, before._period
        self._memory = np.zeros((_MEMORY, n))

    def set_inertia(self, inertia: Array) -> None:
        """With bodies of other inertia, columns `MASS` to `ROTOR` of `parameters`."""
        self._arm.parameters[:, MASS:ROTOR] = inertia

    def forget(self) -> None:
        """No effort is known any more: after a start, a gap, a jump of the stamps."""
        self._count, self._period = 0, 0.0

    @property
    def ahead(self) -> int:
        """Mean time from a stamp until its effort acts, ns: the delay and half a period."""
        return self.delay + round(0.5 * self._period)

    def note(self, stamp: int, effort: Array) -> None:
        """Remember the effort, (n,), that answers the state of `stamp`, ns."""
        acts = stamp + self.delay
        if self._count and acts < self._times[self._newest]:
            self.forget()
        if self._count:
            step = min(stamp - self._stamp, LONGEST_PERIOD)
            self._period += (step - self._period) * (AVERAGED if self._period else 1.0)
        self._stamp = stamp
        self._newest = (self._newest + 1) % REMEMBERED
        self._times[self._newest], self._efforts[self._newest] = acts, effort
        self._count = min(self._count + 1, REMEMBERED)

    def predict(self, q: Array, qd: Array, measured: int, stamp: int, aim_qd: Array) -> tuple[Array, Array]:
        """Position and velocity, (n,), when the effort that answers for `stamp`, ns, acts; stay if not known."""
        memory = self._memory
        memory[_Q], memory[_QD], memory[_AIM] = q, qd, aim_qd
        end = min(stamp + self.ahead, measured + LONGEST)
        if not self._count or not self._predict(
            self._arm, self._joints, self._coriolis, self._times, self._efforts, self._newest, self._count, measured,
            end, memory,
        ):
            return q + (end - measured) / NANOSECONDS * qd, qd
        return memory[_Q].copy(), memory[_QD].copy()


def _joint_rows(law: Any, *, friction: bool) -> Array:
    """What the kernel needs of each joint, (_ROWS, n), of a law with `friction_rows` and `steepness`."""
    robot = law.robot.open_tree
    moved_by = robot.topology[:, VELOCITY_INDEX]
    joints = np.zeros((_ROWS, robot.n))
    bodies = np.array([int(np.argmax(moved_by == j)) for j in range(robot.n)])
    joints[_BODY], joints[_ROTOR] = bodies, robot.parameters[bodies, ROTOR]
    if friction:
        joints[_VISCOUS : _VISCOUS + len(law.friction_rows)] = law.friction_rows
    joints[_STEEPNESS] = law.steepness
    return joints


def _prediction(forward_dynamics: Compiled) -> Compiled:
    """The kernel with one for the accelerations."""

    @kernel
    def predict(
        arm: Arm, joints: Array, coriolis: bool, times: NDArray[np.int64], efforts: Array, newest: int, count: int,
        start: int, end: int, memory: Array,
    ) -> bool:
        """Move position and velocity in `memory`, (9, n), from `start` to `end`, ns; whether they stay finite."""
        # Of the ring of times and efforts the `count` up to `newest` are known. Each step is the implicit trapezoidal
        # rule for viscous friction, which may be stiff (half a step's is added to the rotor inertia), and the midpoint
        # rule otherwise.
        n, size = memory.shape[1], times.shape[0]
        state, aim_qd, work = memory[:_AIM], memory[_AIM], memory[_WORK:]
        q, speed, qdd, effort, force, bias_speed = work[0], work[1], work[2], work[3], work[4], work[5]
        parameters = arm.parameters
        back = 0  # the effort that acts at the start, counted from the newest
        while back < count - 1 and times[(newest - back) % size] > start:
            back += 1
        at, shortest = start, (end - start + MOST_STEPS - 1) // MOST_STEPS
        while at < end:
            began = at
            effort[:] = 0.0
            while at < end and at - began < shortest:  # efforts that act for less make one step, of their mean
                until = min(max(times[(newest - back + 1) % size], at), end) if back > 0 else end
                k = (newest - back) % size
                for j in range(n):
                    effort[j] += efforts[k, j] * (until - at)
                at = until
                if at < end:
                    back -= 1
            h = 1e-9 * (at - began)
            for j in range(n):
                parameters[int(joints[_BODY, j]), ROTOR] = joints[_ROTOR, j] + 0.5 * h * joints[_VISCOUS, j]
                coulomb = joint_compensation(
                    1.0, joints[_STEEPNESS, j], 0.0, joints[_FORWARD, j], joints[_BACKWARD, j],
                    joints[_STRIBECK, j], joints[_FADING, j], aim_qd[j],
                )
                force[j] = effort[j] / (at - began) - joints[_VISCOUS, j] * state[1, j] - coulomb
                q[j], speed[j] = state[0, j], state[1, j]
            for half in range(2):
                for j in range(n):
                    if half > 0:
                        q[j] = state[0, j] + 0.5 * h * (state[1, j] + 0.25 * h * qdd[j])
                        speed[j] = state[1, j] + 0.5 * h * qdd[j]
                    bias_speed[j] = speed[j] if coriolis else 0.0
                if forward_dynamics(arm, q, bias_speed, force, qdd) >= 0:
                    return False
            for j in range(n):
                state[0, j] += h * (state[1, j] + 0.5 * h * qdd[j])
                state[1, j] += h * qdd[j]
        finite = True
        for j in range(n):
            finite &= math.isfinite(state[0, j]) and math.isfinite(state[1, j])
        return finite

    return predict


_PREDICTIONS = {False: _prediction(nasser_kernel), True: _prediction(WALKER_ORIN.kernel)}
