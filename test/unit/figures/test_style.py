"""Units of axes."""

from __future__ import annotations

import pytest

import rne_dynamics as rne
from rne_dynamics.figures.tracking import joint_units, units_of


@pytest.mark.parametrize(("robot", "position", "error", "velocity", "effort"), [
    ("puma560", "rad", "mrad", "rad/s", "N m"),
    ("cylindrical", "rad, m", "mrad, mm", "rad/s, m/s", "N m, N"),
])
def test_units_are_those_of_the_joints(robot, position, error, velocity, effort):
    assert units_of(rne.load_model(robot)) == (position, error, velocity, effort)


def test_every_joint_has_its_own_unit():
    assert [units.effort for units in joint_units(rne.load_urdf("scara"))] == ["N m", "N m", "N", "N m"]
    assert units_of(rne.load_urdf("cylindrical", lock={"joint1": 0.0})).position == "m"
