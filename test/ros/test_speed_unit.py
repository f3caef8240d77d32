"""Speed scaling in percent, as ur_robot_driver publishes it."""

from __future__ import annotations

import time

import numpy as np
import pytest
from std_msgs.msg import Float64

from rne_dynamics.errors import ControlError
from rne_dynamics.ros.parameters.tracking import speed_fraction
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import START


@pytest.mark.parametrize(("unit", "given", "fraction"), [
    ("fraction", 0.25, 0.25), ("fraction", 1.0, 1.0), ("percent", 100.0, 1.0), ("percent", 25.0, 0.25),
    ("percent", 1.0, 0.01), ("percent", 0.0, 0.0), ("fraction", 0.0, 0.0),
])  # fmt: skip
def test_both_units(unit, given, fraction):
    assert speed_fraction(given, unit) == fraction


@pytest.mark.parametrize(("unit", "given", "hint"), [
    ("fraction", 100.0, True), ("fraction", 1.5, True), ("fraction", 101.0, False), ("fraction", -0.1, False),
    ("fraction", np.nan, False), ("percent", 100.1, False), ("percent", np.nan, False), ("percent", -1.0, False),
])  # fmt: skip
def test_what_is_out_of_range_is_refused_with_a_hint_at_the_unit(unit, given, hint):
    with pytest.raises(ControlError, match="speed scaling is") as refusal:
        speed_fraction(given, unit)
    assert ("set speed_scaling_unit to percent" in str(refusal.value)) == hint


@pytest.mark.slow
def test_the_controller_takes_percent(start, namespace, make_peer):
    process = start(
        "computed_torque_controller", robot_description="puma560", speed_scaling_unit="percent", diagnostics_period=0.5
    )
    node = make_peer(()).node
    # where the driver publishes; the controller's own name is remapped by users, and not here
    speeds = node.create_publisher(Float64, f"{namespace}/computed_torque_controller/speed_scaling", 1)
    wait_until(speeds.get_subscription_count, START, "the controller", [process])

    def says(value: float, text: str) -> None:
        def logged() -> bool:
            speeds.publish(Float64(data=value))
            return text in process.output()

        wait_until(logged, START, text, [process])

    says(150.0, "speed scaling is 150; it must lie between 0 and 100 (speed_scaling_unit is percent). It stays 1 of")

    def kept() -> bool:
        for value in (50.0, 150.0):  # the controller takes the newest, so either may be lost
            speeds.publish(Float64(data=value))
            time.sleep(0.02)
        return "It stays 0.5 of full speed" in process.output()

    wait_until(kept, START, "half of full speed", [process])
