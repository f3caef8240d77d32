"""Speed scaling in percent, as ur_robot_driver publishes it, and the wrong unit."""

from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.errors import ControlError
from rne_dynamics.ros.parameters.tracking import SpeedUnit


@pytest.mark.parametrize(("unit", "given", "fraction"), [
    ("fraction", 0.25, 0.25), ("fraction", 1.0, 1.0), ("percent", 100.0, 1.0), ("percent", 25.0, 0.25),
    ("percent", 1.0, 0.01), ("percent", 0.0, 0.0), ("fraction", 0.0, 0.0),
])  # fmt: skip
def test_both_units(unit, given, fraction):
    assert SpeedUnit(unit).fraction(given) == fraction


@pytest.mark.parametrize(("unit", "given", "hint"), [
    ("fraction", 100.0, True), ("fraction", 1.5, True), ("fraction", 101.0, False), ("fraction", -0.1, False),
    ("fraction", np.nan, False), ("percent", 100.1, False), ("percent", np.nan, False), ("percent", -1.0, False),
])  # fmt: skip
def test_what_is_out_of_range_is_refused_with_a_hint_at_the_unit(unit, given, hint):
    with pytest.raises(ControlError, match="speed scaling is") as refusal:
        SpeedUnit(unit).fraction(given)
    assert ("set speed_scaling_unit to percent" in str(refusal.value)) == hint


def test_fractions_taken_for_percent_are_noticed_once():
    unit = SpeedUnit("percent")
    unit.fraction(0.0)
    assert not unit.suspicion()  # a stopped arm says nothing about the unit
    unit.fraction(0.5)
    assert "set speed_scaling_unit to fraction" in unit.suspicion()
    assert not unit.suspicion()
    good = SpeedUnit("percent")
    good.fraction(100.0)
    good.fraction(0.5)
    assert not good.suspicion()
