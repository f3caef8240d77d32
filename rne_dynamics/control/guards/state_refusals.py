"""Why `StateFilter` has refused a joint state: kind and text."""

from __future__ import annotations

from collections.abc import Sequence

from rne_dynamics.control.guards import state_memory as memory
from rne_dynamics.errors import StateError, StateProblem
from rne_dynamics.model.inertia import Array

#: By answer of `check_state`: the problem, and its text, which takes `name` of the joint, its velocity `limit`, and the
#: figures `found`, `allowed` and `step` that the check has left.
_REFUSALS = {
    memory.NOT_FINITE: (StateProblem.NOT_FINITE, "a value of {name} is {found}; it must be finite"),
    memory.OUT_OF_RANGE: (
        StateProblem.OUT_OF_RANGE, "a value of {name} is {found:g}, beyond +-{allowed:g}; is its unit rad or m?",
    ),
    memory.NO_STAMP: (
        StateProblem.NO_STAMP, "its stamp is zero, those before were not; stamp every state or none",
    ),
    memory.DUPLICATE: (
        StateProblem.DUPLICATE_STAMP,
        "it has the stamp of the one before; every state needs a time of its own",
    ),
    memory.OUT_OF_ORDER: (
        StateProblem.OUT_OF_ORDER, "its stamp is {before:.6f} s before that of the one before",
    ),
    memory.DELAYED: (
        StateProblem.DELAYED,
        "it is {found:.3f} s later than others before it; {allowed:.3g} allowed (the smaller one of state_timeout and "
        "the delay that the gains tolerate). For a slowing simulation set use_sim_time",
    ),
    memory.JUMP: (
        StateProblem.POSITION_JUMP,
        "{name} {way} at its velocity limit {limit:g}. Is there a second sender, has an encoder slipped, is the limit "
        "too low, was the arm hit?",
    ),
    memory.FAST: (StateProblem.TOO_FAST, "velocity of {name} is {found:.4g}, far beyond its limit {limit:g}"),
    memory.SENDERS: (StateProblem.TWO_SENDERS, "two publishers send these joints; stop one of them"),
    memory.STRAY: (
        StateProblem.OUT_OF_ORDER,
        "its publication number does not follow that of the one before: delivered late, or a new publisher",
    ),
    memory.RUSH: (
        StateProblem.CLOCK_TOO_FAST,
        "stamps run ahead of real time by more than 5 %, so motions would be faster than was checked; for a fast "
        "simulation set use_sim_time",
    ),
    memory.FROZEN: (
        StateProblem.FROZEN,
        "position of {name} has stood still for {step:.3f} s, in which its effort must have moved it by {found:.2g} or "
        "more. Is the encoder's reading frozen, the brake closed, or the joint held by something?",
    ),
}

#: A stream that was lost for these is used again on request only: after a jump the position may be wrong, and the age
#: of late states shows only against earlier ones. An arm held by such states moves off or swings.
DOUBTED = frozenset({StateProblem.POSITION_JUMP, StateProblem.DELAYED, StateProblem.CLOCK_TOO_FAST})


def refusal(code: int, clock: Array, joint: int, joints: Sequence[str], velocity: Array) -> StateError:
    """The error for an answer of `check_state`.

    Parameters
    ----------
    code
        The answer.
    clock
        The filter's memory of numbers, in which the check has left what it found and what is allowed.
    joint
        The joint it is about; below 0 for none.
    joints, velocity
        Names of all joints and their velocity limits, rad/s or m/s; shape (n,).
    """
    found, allowed, step = (float(clock[k]) for k in (memory.FOUND, memory.ALLOWED, memory.STEP))
    way = (
        f"is {found:.6g} from its last good place after {step:.6f} s; at most {allowed:.4g} is possible"
        if abs(found) > allowed else
        f"has jumped, and stays {found:.6g} from its last good place: the first state there came too soon"
    )
    problem, text = _REFUSALS[code]
    reason = text.format(
        name=f"joint {joints[joint]!r}" if joint >= 0 else "its arrival", limit=velocity[joint], found=found,
        allowed=allowed, step=step, before=-step, way=way,
    )
    return StateError(f"joint state: {reason}", problem)
