"""Faults of parameters: changes that must be refused, and good ones at any time."""

from __future__ import annotations

import math

import numpy as np
from faults.arm import EFFORT
from faults.fault import Faults
from faults.rig import Rig

FAULTS = Faults("parameter")
fault = FAULTS.fault

UNCHANGED = "refused as a whole; the arm is held as before"


def refused(name: str, injected: str, **values: object) -> None:
    """A change of parameters that must be refused."""

    def inject(rig: Rig) -> None:
        answer = rig.change(**values)
        rig.check(not answer.successful, f"{values} is accepted")
        rig.check(answer.reason, "no reason is given")
        rig.run(0.1)
        rig.undisturbed()

    FAULTS.add(name, injected, UNCHANGED, inject)


refused("parameter-nan", "a gain is set to NaN", gains__joint1__p=math.nan)
refused("parameter-negative", "an effort limit is set to -1", limits__joint1__effort=-1.0)
refused("parameter-infinite", "an effort rate is set to infinity", limits__joint2__effort_rate=math.inf)
refused("parameter-type", "a gain is set to a word", gains__joint1__p="soft")
refused("parameter-policy", "stop.policy is set to a word it does not know", stop__policy="drop")
refused("parameter-payload", "a payload on a link that the arm does not have, with a good gain",
        payload__link="gripper", payload__mass=1.0, gains__joint1__p=100.0)
refused("parameter-margin", "margins that leave no room between the position limits",
        limits__joint2__position_margin=5.0)


@fault("the new limit is kept from then on")
def limit_lowered_in_motion(rig: Rig) -> None:
    """The effort limit is lowered in motion."""
    goal = rig.move()
    lower = 0.9 * EFFORT[0]
    rig.accepted(rig.change(limits__joint1__effort=lower))
    rig.mark()
    rig.arrive(goal, 0.1)
    rig.check(np.abs(rig.efforts[:, 0]).max() <= lower, f"{np.abs(rig.efforts[:, 0]).max():.4g} N m came")


@fault("within the effort rate; no stop")
def payload_changed_in_motion(rig: Rig) -> None:
    """The payload changes by 1 kg in motion, in the model and not in the hand."""
    goal = rig.move()
    rig.accepted(rig.change(payload__link="tool0", payload__mass=1.0))
    rig.arrive(goal, 0.1)


@fault("within the effort rate; held")
def gains_raised(rig: Rig) -> None:
    """Gains are raised tenfold while the arm is held."""
    rig.accepted(rig.change(**{f"gains__joint{j}__{k}": v for j in (1, 2) for k, v in (("p", 1600.0), ("d", 80.0))}))
    rig.run(0.4)
    rig.undisturbed()


@fault("gravity compensation alone supports it: it may drift, it does not fall")
def gains_zero(rig: Rig) -> None:
    """All gains are set to zero while the arm is held."""
    rig.accepted(rig.change(**{f"gains__joint{j}__{k}": 0.0 for j in (1, 2) for k in ("p", "d")}))
    rig.run(0.3)
    rig.undisturbed(0.1)
