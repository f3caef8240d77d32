"""Live changes of every parameter that may change while the controller runs, from its own schema."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from rne_dynamics.faults.arm import COMPUTED_TORQUE, GRAVITY_COMPENSATION
from rne_dynamics.faults.fault import Faults
from rne_dynamics.faults.rig import Rig
from rne_dynamics.ros.lifecycle import COMMON
from rne_dynamics.ros.parameters import JOINT, Parameter

FAULTS = Faults("live change")
fault = FAULTS.fault

#: An arm whose parameter is changed while it is held strays no further, rad.
DEVIATION = 0.05


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
