"""Machine code for one state behind its own entry: what the entry takes, what it leaves to Python, what it keeps."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest
from support.arms import chain, gripper, slider
from support.errors import relative_error
from support.robots import with_own_code as named

import rne_dynamics as rne
from rne_dynamics.compiling import native
from rne_dynamics.compiling.processor import processor
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import ArgumentError
from rne_dynamics.straight_line import machine_code, state_code

pytestmark = pytest.mark.skipif(processor() is None, reason="no machine code here")
TRACED = sorted(QUANTITIES.keys() - {"forward_kinematics"})
PUMA = named("puma560")
LOADED = ["inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives", "forward_dynamics_derivatives"]


class Odd(list):
    """What an entry leaves to Python, seen from there."""

    def __call__(self, *arguments, **given):
        self.append((arguments, given))
        return "python"


def vectors(robot, quantity, seed=0):
    rng = np.random.default_rng(seed)
    q = rne.random_configuration(robot, rng)
    return [q if name == "q" else rng.normal(size=robot.n) for name in QUANTITIES[quantity].inputs]


def link(robot, quantity):
    return robot.link_names[-1] if "jacobian" in quantity else ""


@pytest.fixture
def odd():
    return Odd()


@pytest.fixture
def bound(odd):
    return QUANTITIES["inverse_dynamics"].code(PUMA).bound("f", "f(q, qd, qdd, out=None)\n--\n\nWhat it does.", odd)


@pytest.mark.slow
@pytest.mark.parametrize("quantity", TRACED)
@pytest.mark.parametrize("make", [gripper, slider])
def test_mimic_and_prismatic_joints(make, quantity):
    robot = make()
    f = rne.bind(robot, quantity, link=link(robot, quantity) or None)
    assert QUANTITIES[quantity].code(robot, link(robot, quantity)) is not None
    for seed in range(3):
        given = vectors(robot, quantity, seed)
        expected = getattr(rne, quantity)(robot, *given, *filter(None, [link(robot, quantity)]))
        assert relative_error(np.array(f(*given)), np.array(expected)) < 1e-12


def test_other_numbers_of_arguments_and_other_names_are_left_to_python(bound, odd):
    q, qd, qdd = vectors(PUMA, "inverse_dynamics")
    out = np.empty(6)
    calls = [((), {}), ((q,), {}), ((q, qd), {}), ((q, qd, qdd, out, out), {}), ((q, qd, qdd), {"into": out}),
             ((q, qd), {"qdd": qdd}), ((q, qd, qdd, out), {"out": out}), ((q, qd), {"out": out}),
             ((q, qd, qdd), {"out": out, "more": 1})]  # fmt: skip
    for arguments, given in calls:
        assert bound(*arguments, **given) == "python"
    assert [(len(a), sorted(g)) for a, g in odd] == [(len(a), sorted(g)) for a, g in calls]


def test_large_angles_are_left_to_python(bound, odd):
    given = vectors(PUMA, "inverse_dynamics")
    given[0][3] = 2.0**30
    assert bound(*given) is not None
    assert not odd
    given[0][3] = 2.0**31
    assert bound(*given) == "python"
    expected = rne.inverse_dynamics(PUMA.with_own_code(False), *given)
    assert relative_error(rne.inverse_dynamics(PUMA, *given), expected) < 1e-12
    assert relative_error(rne.bind(PUMA, "inverse_dynamics")(*given), expected) < 1e-12


def test_an_exception_from_python_passes_through(odd):
    def fails(*arguments):
        raise KeyError("the reason")

    f = QUANTITIES["inverse_dynamics"].code(PUMA).bound("f", "", fails)
    with pytest.raises(KeyError, match="the reason"):
        f(1.0)


def test_rows_that_the_code_refuses_are_computed_by_the_kernel():
    robot = named("puma560")
    given = [np.stack([v, 0.5 * v, v]) for v in vectors(robot, "forward_dynamics")]
    given[0][1, 4] = 3e10
    for quantity in ("forward_dynamics", "inverse_dynamics_derivatives", "forward_dynamics_derivatives", "mass_matrix"):
        rows = given[: len(QUANTITIES[quantity].inputs)]
        found, expected = (
            np.array(getattr(rne, quantity)(x, *rows)) for x in (robot, robot.with_own_code(False))
        )  # fmt: skip
        assert found.shape == expected.shape
        assert relative_error(found, expected) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("quantity", [*LOADED, "regressor"])
@pytest.mark.parametrize("lead", [(), (3,)])
def test_moving_bases_and_loads_are_inputs_of_machine_code_too(quantity, lead, monkeypatch):
    robot, rng = rne.load_urdf("puma560"), np.random.default_rng(0)
    link, rows = robot.link_names[-1], [rng.normal(size=(*lead, 6)) for _ in range(3)]
    motion = rne.BaseMotion(angular_velocity=(0.1, 0.2, 0.3), linear_acceleration=rng.normal(size=(*lead, 3)))
    cases = [{"base_motion": motion}]
    if quantity != "regressor":
        loads = {link: rng.normal(size=(*lead, 6))}
        cases += [{"wrenches": loads}, {"wrenches": {link: np.ones(6)}, "base_motion": motion}]
    function = getattr(rne, quantity)
    expected = [np.array(function(robot.with_own_code(False), *rows, **case)) for case in cases]
    monkeypatch.setattr(type(QUANTITIES["inverse_dynamics"]), "fill", lambda *_: pytest.fail("the general kernel"))
    for case, there in zip(cases, expected, strict=True):
        found = np.array(function(robot, *rows, **case))
        assert found.shape == there.shape
        assert relative_error(found, there) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("quantity", ["jacobian", "jacobian_rate"])
def test_only_some_links_of_a_robot_have_code_of_their_own(quantity):
    robot = named("talos_reduced.urdf").with_own_code()
    general, given = robot.with_own_code(False), vectors(robot, quantity)
    links = [link.name for link in robot.tree.links if robot.link(link.name).body >= 0][:10]
    for _ in range(2):
        for name in links:
            found, expected = (getattr(rne, quantity)(x, *given, name) for x in (robot, general))
            assert relative_error(found, expected) < 1e-12
            again = getattr(rne, quantity)(robot, *(x.tolist() for x in given), name)
            assert np.array_equal(found, again)
    assert [QUANTITIES[quantity].call_code(robot, name) is not None for name in links] == [True] * 8 + [False] * 2


def test_poses_of_links_are_filled_whatever_was_given():
    robot, general = PUMA, rne.bind(named("scara"), "forward_kinematics")
    f, rng = rne.bind(robot, "forward_kinematics"), np.random.default_rng(0)
    ours, theirs = f(np.zeros(6)), rne.forward_kinematics(robot.with_own_code(False), np.zeros(6))
    for out in (ours, theirs):
        for q in (rng.normal(size=6), rng.normal(size=6).tolist(), np.full(6, 3e9)):
            expected = rne.forward_kinematics(robot.with_own_code(False), q)
            assert f(q, out=out) is out
            for found, there in ((out.rotation, expected.rotation), (out.position, expected.position)):
                assert relative_error(found, there) < 1e-12
    with pytest.raises(ArgumentError, match="out is a ndarray"):
        f(np.zeros(6), out=np.zeros(96))
    with pytest.raises(ArgumentError, match="of shape"):
        f(np.zeros(6), out=general(np.zeros(4)))
    assert f(np.zeros((2, 6))).rotation.shape == (2, len(robot.links), 3, 3)


def test_the_memory_of_a_robot_and_its_functions_is_freed():
    gc.freeze()  # what other tests have made takes half a second to collect
    robot = rne.load_urdf("puma560")
    f = rne.bind(robot, "gravity_torque")
    rne.gravity_torque(robot, np.zeros(6))
    left = weakref.ref(robot)
    del robot
    gc.collect()
    assert f(np.zeros(6)).shape == (6,)
    del f
    gc.collect()
    assert left() is None
    gc.unfreeze()


def test_a_million_calls_leave_nothing_behind(bound):
    given, out = vectors(PUMA, "inverse_dynamics"), np.empty(6)
    counts = [sys.getrefcount(x) for x in (*given, out)]
    for _ in range(1000):
        bound(*given)
        bound(*given, out=out)
        bound(*given, out)
        bound(1.0)
    assert [sys.getrefcount(x) for x in (*given, out)] == counts


def test_without_machine_code_the_general_kernels_serve(monkeypatch):
    monkeypatch.setattr(machine_code, "processor", lambda: None)
    robot = rne.load_urdf("puma560")
    given = vectors(robot, "inverse_dynamics")
    expected = rne.inverse_dynamics(PUMA, *given)
    assert QUANTITIES["inverse_dynamics"].code(robot) is None
    assert relative_error(rne.inverse_dynamics(robot, *given), expected) < 1e-13
    assert relative_error(rne.bind(robot, "inverse_dynamics")(*given), expected) < 1e-13


def test_code_that_computes_something_else_is_not_used(monkeypatch):
    right = QUANTITIES["inverse_dynamics"].recipe(chain(2, rotor=1.0))
    wrong = QUANTITIES["inverse_dynamics"].recipe(chain(2))
    monkeypatch.setattr(machine_code.store, "load", lambda _: None)
    monkeypatch.setattr(machine_code.store, "save", lambda *_: None)
    text = state_code.STATE.text(machine_code.trace(wrong), wrong, processor())
    made = native.object_code(text, processor(), optimised=False)
    monkeypatch.setattr(native, "object_code", lambda *_, **__: made)
    with pytest.warns(RuntimeWarning, match="of robot 'chain2' differs from its kernel"):
        assert state_code.state_code(right) is None


def test_a_first_answer_needs_no_general_kernel(tmp_path):
    program = (
        "import numpy as np, rne_dynamics as rne\n"
        "robot = rne.load_urdf('planar2')\n"
        "q, qd, qdd = np.zeros((3, 2))\n"
        "rne.inverse_dynamics(robot, q, qd, qdd)\n"
        "rne.forward_dynamics(robot, q.tolist(), qd, np.zeros((7, 2)))\n"
        "rne.forward_dynamics_derivatives(robot, q, qd, qdd)\n"
        "rne.jacobian(robot, q, robot.link_names[-1])\n"
        "rne.momentum(robot, q, qd, 'com')\n"
        "rne.joint_reactions(robot, q, qd, qdd, wrenches={robot.link_names[-1]: np.ones(6)})\n"
        "rne.kinetic_energy(robot, q, qd), rne.center_of_mass(robot, q)\n"
        "rne.bind(robot, 'mass_matrix')(q)\n"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, timeout=120,
        env={**os.environ, "RNE_DYNAMICS_CACHE_DIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)},
    )  # fmt: skip
    kernels = {path.name.partition("-")[0] for path in tmp_path.iterdir()} - {"straight_line", "processor"}
    entries = {f"straight_line.state_code.{name}" for name in ("_refusal", "_rows")}
    assert kernels <= {"dynamics.declared.arguments.all_finite", *entries}
