"""Goals as typed: names, order, degrees, limits."""

from __future__ import annotations

import math

import pytest

import rne_dynamics as rne
from rne_dynamics.control.motion.limits import parse_goal
from rne_dynamics.errors import RneDynamicsError

SCARA = rne.load_urdf("scara")


def goal(*words: str) -> dict[str, float]:
    return parse_goal(words, SCARA, SCARA.lower, SCARA.upper)


def test_names_order_and_degrees():
    assert goal("joint1=30deg", "joint3=0.1") == {"joint1": math.radians(30.0), "joint3": 0.1}
    assert goal("joint3=20mm") == {"joint3": 0.02}
    assert goal("-30deg", "0", "0.1", "1e-1") == {
        "joint1": -math.radians(30.0), "joint2": 0.0, "joint3": 0.1, "joint4": 0.1,
    }


@pytest.mark.parametrize(("words", "said"), [
    ((), "no goal"), (("joint1=0", "1"), "not both"), (("0", "0"), "2 values for 4 joints"),
    (("joint1=nan",), "is no position"),
    (("joint1=30degrees",), "its unit is rad or deg"),
    (("joint1=",), "is no position"), (("joint3=1deg",), "is prismatic"), (("joint1=0", "joint1=1"), "given twice"),
    (("elbow=1",), "elbow"),
    (("joint1=99",), "outside its limits"), (("joint1=inf",), "is no position"),
])
def test_what_is_no_goal_is_refused(words, said):
    with pytest.raises(RneDynamicsError, match=said):
        goal(*words)
