"""References, the protocol of laws that follow them, what a law may promise, and the check that an object is one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.thresholds import LONGEST_DELAY
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.errors import ControlError, RneDynamicsError, refuse
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

_new = tuple.__new__


class Reference(NamedTuple):
    """Desired motion.

    Parameters
    ----------
    q, qd, qdd
        Position, velocity and acceleration of every joint, rad or m and their rates; each of shape (n,).
    """

    q: Array
    qd: Array
    qdd: Array


def rows_reference(rows: Array) -> Reference:
    """The three rows of an array as `np.empty((3, n))` makes it."""
    return _new(Reference, (rows[0], rows[1], rows[2]))  # a quarter of the time of Reference(*rows)


# -- torque of a control law, term by term -----------------------------------------------------------------------------


class TorqueTerms(NamedTuple):
    """Effort of each part of a law, N·m or N; each of shape (n,).

    Parameters
    ----------
    inertia
        M(q) q̈ of the desired motion.
    coriolis
        Coriolis and centrifugal torque of the measured motion.
    gravity
        Gravity torque.
    friction
        Friction compensation.
    feedback
        Response to the error: M(q)(Kd ė + Kp e + Ki ∫e) in computed torque, damping in gravity compensation.
    """

    inertia: Array
    coriolis: Array
    gravity: Array
    friction: Array
    feedback: Array

    @property
    def total(self) -> Array:
        """The sum of all terms, which is what goes to the motors; shape (n,)."""
        return self.inertia + self.coriolis + self.gravity + self.friction + self.feedback


#: Rows of the terms in an array of them, in the order of `TorqueTerms`.
INERTIA, CORIOLIS, GRAVITY, FRICTION, FEEDBACK = range(len(TorqueTerms._fields))


def named_terms(terms: TorqueTerms | Array) -> TorqueTerms:
    """Terms by name, of an array whose first rows they are: to name them takes longer than to compute them."""
    return terms if isinstance(terms, TorqueTerms) else TorqueTerms(*terms[: len(TorqueTerms._fields)])


#: What `law` must take besides what the arm needs (`check_law`).
_ARGUMENTS = ("q", "qd", "reference", "integral")


class LawTolerances(NamedTuple):
    """Errors that are usual with a law: defaults of a controller's parameters; rad or m, 0 for no bound."""

    #: `limits.<joint>.holding_error`, `constraints.<joint>.trajectory` and `constraints.<joint>.goal`.
    holding_error: float = 0.05
    path: float = 0.0
    goal: float = 0.01


class MotionDemand(NamedTuple):
    """What a law adds to the inverse dynamics of a motion, for the check of the effort that it asks for."""

    #: Friction that the law compensates: viscous, largest forwards and backwards; more rows are not read; (3, n).
    friction: Array
    #: How fast it answers a step of the velocity, as a critically damped law of that bandwidth, rad/s; shape (n,).
    bandwidth: Array


class CompiledLaw(NamedTuple):
    """A law as a kernel: ``kernel(model, table, q, qd, reference, integral, terms)`` fills `terms`, (5 or more, n)."""

    kernel: Callable[..., None]
    #: A tuple; an `Arm` or machine code with a field `base`, or one that begins with such a tuple.
    model: Any
    #: Numbers of each joint, (`TABLE_ROWS` of computed torque, n).
    table: Array


def on_base(model: Any, base: Array) -> Any:
    """The model of a `CompiledLaw` with its base moving as `BaseMotion.packed` gives it, (12,)."""
    return model._replace(base=base) if hasattr(model, "base") else (model[0]._replace(base=base), *model[1:])


class ControlLaw(Protocol):
    """A control law that follows references, as `simulate`, `Rollout` and the `Supervisor` take it.

    `ComputedTorque` and `PdGravity` are such laws. A class of your own needs no base class, only `robot` and `law`. It
    may have more members, each a promise on which something depends; without it that is left out:

    - ``next_integral(integral, q, reference, dt, saturated)``: ∫e dt one cycle later, shape (n,), or whatever the law
      integrates; `saturated`, bool (n,), says which efforts were limited. Without it `integral` stays zero.
    - ``restart()``: the arm is taken over anew, or its place has jumped: a state of the law's own, as an observer has,
      begins anew. Called before its first `law`.
    - ``resume(former)``: such a state goes on from that of the law before a change of parameters, of the same class.
    - ``lowest_rate``: joint states per second below which the law is not stable, Hz. A controller refuses such a law,
      and the `Supervisor` stops the arm below it. Without it no rate is too low.
    - ``check_rate(rate)``: warnings about its damping at `rate` efforts per second; ControlError where it is not
      stable. Without it `lowest_rate` says which law is refused.
    - ``acceleration_gains``: `Gains` that make accelerations, for the delay that the loop tolerates.
    - ``motion_demand``: a `MotionDemand`, for the check of the effort of trajectories.
    - ``tolerances``: `LawTolerances`, of the class: defaults of a controller that runs it.
    - ``compensates_delay``: whether it can answer for a predicted state; it then has `friction_rows` and `steepness` as
      `TrackingLaw` has.
    - ``without_friction()``: the law for an arm whose own electronics compensates friction.
    - ``compiled``: a `CompiledLaw`, which is then computed together with the limits.
    - ``act_after(delay, period)``: receives every 0.05 s how long an effort takes to act after its state, and the time
      between states, s; joints are then watched for fast swings.
    - ``tolerated_delay``: delay of efforts, s, beyond which the feedback is lowered in proportion.
    - ``longest_delay``: delay of efforts besides the time between states, s, beyond which motions are refused.
    - ``apply_wrench(wrenches)``: a wrench to apply at its link besides, in axes of the base and of the link, (2, 6); it
      then has ``link``, ``force_limit`` and ``moment_limit``.
    - ``fade_time``: time over which other parameters of it come into force, s.

    Its parameters are declared as the package `laws` says.
    """

    @property
    def robot(self) -> RigidRobot:
        """The model that the law knows; it may differ from the simulated arm, but has the same joints."""

    def law(
        self, q: Array, qd: Array, reference: Reference, integral: Array | None = None, *,
        posture: Array | None = None, base_motion: BaseMotion | None = None,
    ) -> TorqueTerms:
        """The efforts for one control cycle.

        Parameters
        ----------
        q, qd
            Measured position and velocity, rad or m and per s; shape (n,).
        reference
            Desired motion.
        integral
            ∫e dt, rad·s or m·s, shape (n,); None counts as zero.
        posture
            Positions of all joints of a mechanism's tree, shape (nq of the tree,); passed for mechanisms only.
        base_motion
            Motion of the base; passed where the base moves and the law may know it.

        Returns
        -------
        TorqueTerms
            Five arrays (n,), N·m or N: the motors get their sum. `gravity` alone holds the arm in a stop.
        """


def check_law(law: Any, robot: Any, what: str, *, base_moves: bool = False) -> None:
    """`ControlError` where an object is no `ControlLaw` for a robot, with what it lacks; `what` names it."""
    if isinstance(law, type):
        raise ControlError(f"{what} is the class {law.__name__}; give an object of it, as {law.__name__}(robot)")
    said = f"{what} is an object of {type(law).__name__}, which is no control law"
    loaded = hasattr(getattr(law, "robot", None), "joint_names")
    missing = [] if loaded else ["an attribute `robot`, the model as rne.load_urdf gives it"]
    method: Any = getattr(law, "law", None)
    if not callable(method):
        missing.append(f"a method `law({', '.join(_ARGUMENTS)})` that returns TorqueTerms")
    if missing:
        raise ControlError(f"{said}: it lacks {' and '.join(missing)}; see docs/own_law.md")
    extra = [name for name, needed in (("posture", robot.loops), ("base_motion", base_moves)) if needed]
    try:
        inspect.signature(method).bind(*_ARGUMENTS, **dict.fromkeys(extra))
    except TypeError as error:
        wanted = ", ".join([*_ARGUMENTS, *(["*", *extra] if extra else [])])
        raise ControlError(
            f"{said}: its method `law` cannot be called as law({wanted}): {error}; give it these arguments"
        ) from None
    if law.robot.n != robot.nq:
        raise ControlError(
            f"the model {law.robot.name!r} of {what} has {law.robot.n} joints, robot {robot.name!r} has {robot.nq} "
            "positions; the law needs one for each of its joints"
        )


def terms_of(
    law: ControlLaw, q: Array, qd: Array, reference: Reference, integral: Array | None, posture: Array | None,
    base_motion: BaseMotion | None,
) -> TorqueTerms:
    """The law's efforts; `ControlError` where it fails, or returns something else than five arrays (n,)."""
    known: dict[str, Any] = {} if posture is None else {"posture": posture}
    if base_motion is not None:
        known["base_motion"] = base_motion
    try:
        terms = law.law(q, qd, reference, integral, **known)
    except RneDynamicsError:
        raise
    except Exception as error:  # of a user's law: a supervisor then stops the arm, as for any other error
        raise ControlError(f"the law {type(law).__name__} failed: {type(error).__name__}: {error}") from error
    if not isinstance(terms, TorqueTerms):
        raise ControlError(
            f"the law {type(law).__name__} returned {type(terms).__name__}; it must return "
            f"TorqueTerms({', '.join(TorqueTerms._fields)}), five arrays of shape {q.shape}; zeros where there is none"
        )
    for name, value in zip(TorqueTerms._fields, terms, strict=True):
        if np.shape(value) != q.shape:
            raise ControlError(
                f"the law {type(law).__name__} returned a term `{name}` of shape {np.shape(value)}; "
                f"it must be {q.shape}"
            )
    return terms


def next_integral(
    law: ControlLaw, integral: Array, q: Array, reference: Reference, dt: float, saturated: NDArray[np.bool_]
) -> Array:
    """∫e dt one cycle later, by the law's own method where it has one."""
    own: Callable[..., Array] | None = getattr(law, "next_integral", None)
    if own is None:
        return integral
    after = own(integral, q, reference, dt, saturated)
    if np.shape(after) != integral.shape:
        raise ControlError(
            f"next_integral of the law {type(law).__name__} returned shape {np.shape(after)}; "
            f"it must be {integral.shape}"
        )
    return after


def call_own(law: ControlLaw | None, name: str, *arguments: Any) -> None:
    """Call a method that a law may have, where it has it."""
    if hasattr(law, name):
        getattr(law, name)(*arguments)


def resume_law(law: ControlLaw | None, former: ControlLaw | None) -> None:
    """Let a law go on in place of a former one: with its state where they are of one class, otherwise anew."""
    if type(former) is type(law) and hasattr(law, "resume"):
        call_own(law, "resume", former)
    elif former is not None:
        call_own(law, "restart")


def rate_warnings(law: ControlLaw, rate: float) -> tuple[str, ...]:
    """Warnings about a law at `rate` efforts per second. Raises ControlError: it is not stable at that rate."""
    own: Callable[[float], tuple[str, ...]] | None = getattr(law, "check_rate", None)
    if own is not None:
        return own(rate)
    lowest = getattr(law, "lowest_rate", 0.0)
    if lowest > rate:
        raise ControlError(
            f"the gains of {type(law).__name__} are stable from {lowest:.0f} joint states per second on, and it is to "
            f"run at {rate:g}: lower them, or set min_rate to the rate at which joint states always come"
        )
    return ()


def check_delay(law: ControlLaw | None, delay: float) -> None:
    """`ControlError` where `delay`, s, cannot be compensated with a law; 0 always can."""
    if not 0.0 <= delay <= LONGEST_DELAY:
        raise ControlError(f"command_delay is {delay} s; it must lie between 0 and {LONGEST_DELAY:g}")
    if delay > 0.0 and law is not None:
        refuse(
            ControlError,
            (not getattr(law, "compensates_delay", False),
             f"command_delay is {delay:g} s, but delays are compensated with ComputedTorque only, and the law is "
             f"{type(law).__name__}. Set it to 0"),
            (law.robot.loops,
             f"command_delay is {delay:g} s, but robot {law.robot.name!r} has closed loops: delays are "
             "compensated for open arms only. Set it to 0"),
        )  # fmt: skip
