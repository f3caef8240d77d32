"""Laws by name: a law is its module, from which parameters, checks and `rne simulate --law` follow."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pytest
from support.own_law import write_law

import rne_dynamics as rne
from rne_dynamics.cli.main import main
from rne_dynamics.control.control_law import LawTolerances, MotionDemand, Reference, rate_warnings
from rne_dynamics.control.laws import find_law, law_names
from rne_dynamics.control.tracking_law import KernelLaw
from rne_dynamics.errors import ControlError

ROBOT = rne.load_urdf("puma560")


@pytest.fixture
def springs(tmp_path, monkeypatch):
    """The module of the page, where Python finds it."""
    write_law(tmp_path, "springs_here")
    monkeypatch.syspath_prepend(tmp_path)
    return "springs_here"


def test_every_law_of_the_package_is_found_by_the_name_of_its_module():
    assert law_names() == (
        "cartesian_impedance", "computed_torque", "disturbance_observer", "joint_impedance", "pd_gravity",
    )
    assert find_law("computed_torque").make is rne.ComputedTorque
    assert find_law("pd_gravity").make is rne.PdGravity
    names = [f"gains.{{joint}}.{key}" for key in ("p", "i", "d", "i_clamp")]
    assert list(find_law("computed_torque").node_names()) == names


@pytest.mark.parametrize("name", law_names())
@pytest.mark.parametrize("robot", ["panda", "scara"])
def test_the_default_parameters_of_every_law_hold_and_move_every_arm(name, robot):
    arm = rne.load_urdf(robot)
    law = find_law(name).law(arm)
    assert rate_warnings(law, 250.0) == ()
    assert isinstance(law.motion_demand, MotionDemand)
    assert isinstance(getattr(type(law), "tolerances", LawTolerances()), LawTolerances)
    start = np.clip(arm.neutral, arm.lower, arm.upper)
    log = rne.simulate(rne.ArmPlant(arm, friction=False), law, rne.Hold(start), seconds=0.5)
    assert log.largest_error.max() < 1e-3


@pytest.mark.parametrize(("name", "given", "chosen"), [
    ("pd_gravity", {"d": np.array([-1.0, -1.0, -1.0, 2.0, -1.0, -1.0])}, lambda law: law.gains.d),
    ("joint_impedance", {"stiffness": np.array([-1.0, -1.0, -1.0, 2.0, -1.0, -1.0])}, lambda law: law.stiffness),
    ("cartesian_impedance", {"stiffness": (-1.0,) * 3 + (2.0, -1.0, -1.0)}, lambda law: law.stiffness),
])  # fmt: skip
def test_what_is_given_is_kept_the_rest_chosen_and_a_control_loop_receives_it_without_a_search(name, given, chosen):
    law = find_law(name).law(ROBOT, given)
    assert chosen(law)[3] == 2.0
    assert (chosen(law) > 0.0).all()
    received = pickle.loads(pickle.dumps(law))
    assert {"lowest_rate", "_largest"} & vars(received).keys()
    assert received.lowest_rate == law.lowest_rate
    assert not chosen(received).flags.writeable
    q, still = np.full(6, 0.1), np.zeros(6)
    np.testing.assert_array_equal(*(x.law(q, still, Reference(q + 0.1, still, still)) for x in (law, received)))


def test_pd_gains_follow_the_damping_that_is_given_and_unstable_ones_are_refused():
    assert find_law("pd_gravity").law(ROBOT, {"d": np.full(6, 2.0)}).gains.p.tolist() == [20.0] * 6
    with pytest.raises(ControlError, match=r"gains of PdGravity are stable from .* joint states per second on"):
        rate_warnings(rne.PdGravity(ROBOT, rne.Gains(1e4, 0.0, np.full(6, 1e3))), 250.0)


def test_a_module_of_one_s_own_is_a_law(springs, capsys):
    kind = find_law(springs)
    assert list(kind.node_names()) == [f"{springs}.{{joint}}.stiffness", f"{springs}.{{joint}}.damping"]
    law = kind.law(ROBOT, {"stiffness": np.arange(6.0)})
    assert law.stiffness.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert law.damping.tolist() == [40.0] * 6
    assert main(["simulate", "puma560", "--law", springs, "--law-parameter", "stiffness=3000", "--law-parameter",
                 "damping=100", "--law-parameter", "joint6.damping=20", "--json"]) == 0  # fmt: skip
    report = json.loads(capsys.readouterr().out)
    assert max(abs(joint["final_error"]) for joint in report["joints"]) < 0.02


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--law", "computed_torqe"], "no law named 'computed_torqe'; did you mean 'computed_torque'"),
        (["--law", "no.such.module"], "a law of your own is named by its module"),
        (["--law", "json"], "the module lacks `LAW = ` the class of the law, with a method `law`"),
        (["--law", "pd_gravity", "--law-parameter", "stiffness=3"], "no parameter named 'stiffness'; known: p, i, d"),
        (["--law", "cartesian_impedance", "--law-parameter", "tool=1,2"], "tool has 2 elements; it must have 3"),
        (["--law", "pd_gravity", "--law-parameter", "p=-3"], "it must be between -1 and 1e.06 .N m/rad or N/m."),
        (["--law", "pd_gravity", "--law-parameter", "p=nan"], "it must be a finite number"),
        (["--law", "pd_gravity", "--law-parameter", "p=3", "--bandwidth", "3"], "--bandwidth is not for law 'pd_"),
    ],
)
def test_what_is_no_law_and_no_parameter_is_refused_with_what_there_is(arguments, message, capsys):
    assert main(["simulate", "puma560", *arguments]) == 1
    assert re.search(message, capsys.readouterr().err)


def test_a_module_with_a_mistake_is_refused_with_it(tmp_path, monkeypatch):
    (tmp_path / "mistaken_law.py").write_text("import rne_dynamics\n1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ControlError, match="cannot be imported: ZeroDivisionError"):
        find_law("mistaken_law")


def test_a_cartesian_law_is_refused_of_flexible_links_and_closed_loops(capsys):
    for robot, reason in (("flexible_arm", "links bend, so that"), ("five_bar", "closed loops, whose passive joints")):
        assert main(["simulate", robot, "--law", "cartesian_impedance"]) == 1
        assert reason in capsys.readouterr().err


def test_a_list_of_numbers_is_a_parameter(capsys):
    assert main(["simulate", "panda", "--law", "cartesian_impedance", "--law-parameter", "tool=0,0,0.1", "--seconds",
                 "0.5", "--law-parameter", "stiffness=300,300,300,20,20,20", "--json"]) == 0  # fmt: skip
    report = json.loads(capsys.readouterr().out)
    assert max(abs(joint["final_error"]) for joint in report["joints"]) < 0.02


def test_a_law_with_a_kernel_for_open_arms_refuses_a_mechanism():
    class OpenArmLaw(KernelLaw):
        robot = rne.load_model("pantograph")

    at_rest = np.zeros(OpenArmLaw.robot.n)
    with pytest.raises(ControlError, match="OpenArmLaw is for open arms: robot 'pantograph' has closed loops"):
        OpenArmLaw().law(at_rest, at_rest, Reference(at_rest, at_rest, at_rest))
