"""Live changes of every parameter that may change while the controller runs, from the schema."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import numpy as np
from faults.arm import COMPUTED_TORQUE, GRAVITY_COMPENSATION
from faults.fault import Faults
from faults.rig import Rig

from rne_dynamics.ros.parameters.files import JOINT, Parameter
from rne_dynamics.ros.parameters.table import COMMON

FAULTS = Faults("live change")
fault = FAULTS.fault

#: Largest displacement of a held arm when a parameter changes, rad.
DEVIATION = 0.05
#: Velocity limits that are lower than the speed of the arm, rad/s, the time until it keeps them, s, and how well.
LOW, SLOWED, KEPT = 0.3, 0.8, 1.1


def live(module: str) -> tuple[Parameter, ...]:
    """The parameters of a controller that may change while it runs."""
    schema = importlib.import_module(f"rne_dynamics.ros.{module}").SCHEMA
    return tuple(p for p in (*COMMON, *schema) if not p.read_only)


def others(parameter: Parameter, value: object) -> Iterator[object]:
    """Values that the schema allows, other than the present `value`: ordinary ones first, then its bounds."""
    if parameter.choices and isinstance(parameter.default, str):
        yield from (choice for choice in parameter.choices if choice != value)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, float):
        near = (1.5 * value if value else 0.1, 0.5 * value, parameter.lower, parameter.upper)
        yield from dict.fromkeys(float(min(max(x, parameter.lower), parameter.upper)) for x in near if x != value)


@fault("slowed along its path, then within the new limits until they rise again; the goal is reached",
       arms=("two-links", "panda"))
def limits_lowered_in_motion(rig: Rig) -> None:
    """The velocity limits fall below the speed of the arm in motion, and rise again before its end."""
    names = [f"limits.{joint}.velocity" for joint in rig.robot.joint_names]
    goal = rig.move()
    rig.mark()
    rig.accepted(rig.controller.set(dict.fromkeys(names, LOW)))
    rig.run(SLOWED)
    first = len(rig.driver.speeds)
    rig.run(0.3)
    fast = float(np.abs(rig.driver.speeds[first:]).max()) / LOW
    rig.check(fast < KEPT, f"the arm moves at {fast:.2f} of the new limits {SLOWED:g} s later")
    rig.controller.set_back()
    rig.arrive(goal)


@fault("accepted or refused with a reason; efforts keep their rate and limits, the arm is held and stops in time",
       nodes=(COMPUTED_TORQUE, GRAVITY_COMPENSATION))
def every_live_parameter(rig: Rig) -> None:
    """Every parameter that may change live is changed, to ordinary values and to its bounds, and back."""
    joint, found = rig.robot.joint_names[0], []
    for parameter in live(rig.module):
        name = parameter.name.replace(JOINT, joint)
        before = rig.controller.get(name)
        for value in others(parameter, before):
            rig.mark()
            answer = rig.controller.set({name: value})
            if not (answer.successful or answer.reason):
                found.append(f"{name} = {value} is refused without a reason")
            rig.run(0.02)
            rig.controller.set_back()
            rig.run(0.02)
            deviation = rig.deviation()
            now = rig.controller.state
            if deviation > DEVIATION or now != rig.steady:
                found.append(f"{name} from {before} to {value} and back: {now}, {deviation:.3g} rad away")
                rig.rest()
                rig.driver.restart()
                rig.activate()
    rig.check(not found, "; ".join(found))
    rig.stops()
