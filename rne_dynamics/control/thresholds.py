"""Thresholds that several files use, each with its unit and its reason; those of one file alone are in that file."""

from __future__ import annotations

# -- numbers ----------------------------------------------------------------------------------------------------------
#: Nanoseconds in a second: stamps are integers.
NANOSECONDS = 1_000_000_000
#: Difference that is round-off, rad or m (and per s), s, or a fraction: a million times what arithmetic loses.
ROUNDING = 1e-9
#: Position, rad or m, and its rates, beyond which no arm goes: what is computed from them stays finite.
ABSURD = 1e6
#: Effort and any other input of the limiter that no arm has, N·m or N: no product of two overflows.
LARGEST = 1e100
#: Bisections of a range: they leave a millionth of it.
HALVINGS = 20

# -- speed ------------------------------------------------------------------------------------------------------------
#: Part of its velocity limit by which a motion may pass it: planners round theirs, and integrate in steps.
ALLOWANCE = 1e-3
#: Multiple of a joint's velocity limit beyond which its motion is stopped, and no motion is accepted that could lead
#: there: more than overspeed dampers let a healthy arm reach, and an arm that was thrown is beyond it.
OVERSPEED = 1.5
#: Time in which braking is tried after that, and in which efforts that did not brake are zero, s: a motor with the
#: wrong sign drives an arm on meanwhile.
TRIAL, CUT = 0.010, 0.020

# -- damping ----------------------------------------------------------------------------------------------------------
#: Factors between the damping that is stable and the largest that is allowed, and the one that is chosen: the model's
#: inertia, delay and period may be off by two, and no joint oscillates; see `felt_inertia`.
SAFETY, CALM = 2.0, 4.0
#: Rate of the loop where nothing is known about it, 1/s: the slowest that an arm under effort control is driven at.
ASSUMED_RATE = 250.0
#: How often the inertia of walls and dampers follows the posture, s: it takes 30 us, and an arm that nobody holds folds
#: to its first axis within 0.1 s.
INERTIA_PERIOD = 0.05

# -- time between efforts and states ----------------------------------------------------------------------------------
#: Largest time since the last effort that counts for a step of it, s: a pause allows no jump.
LONGEST_STEP = 0.01
#: Least time without a usable joint state, s, after which feedforward replaces the last effort: its feedback, or the
#: deceleration at a corner of the path, was computed for that moment only.
GAP = 0.01
#: Time between two joint states, s, beyond which the stream is lost: no rate, no ramp and no integral counts more of
#: it, no reference leaps over it, and a stop goes on without states.
LONGEST_GAP = 0.1
#: Usable joint states in a row after which a lost stream counts as back: a broken one has a good state now and then.
BACK = 5
#: Time over which rate and least lateness of a stream are taken, s: long enough for its jitter, and short for a stop.
STREAM_WINDOW = 0.5
#: Longest delay of the efforts that is compensated, s: over a longer one the model's errors grow beyond what a
#: prediction is good for.
LONGEST_DELAY = 0.05
#: Least time between two models with other joints locked, s: making one takes up to 20 ms.
LOCK_PERIOD = 0.05
