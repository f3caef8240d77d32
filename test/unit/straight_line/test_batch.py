"""`bind_batch` returns the results of the plain functions, or raises for the whole batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.arms import gripper, slider
from support.errors import relative_error
from support.robots import robot as named

import rne_dynamics as rne
from rne_dynamics.compiling.linking import linked, load
from rne_dynamics.compiling.native import object_code
from rne_dynamics.compiling.processor import processor
from rne_dynamics.dynamics.quantities import QUANTITIES, batched
from rne_dynamics.errors import ArgumentError, SingularInertiaError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink
from rne_dynamics.straight_line.batch_code import runner
from rne_dynamics.straight_line.batch_ir import module_text
from rne_dynamics.straight_line.trace import trace

CASES = (
    *(("puma560", "fixed", quantity) for quantity in ("inverse_dynamics", "forward_dynamics", "gravity_torque")),
    *(("scara", "fixed", quantity) for quantity in batched() if quantity not in ("inverse_dynamics", "gravity_torque")),
    ("hextilt_flying_arm_5.urdf", "floating", "inverse_dynamics"),
    pytest.param("hextilt_flying_arm_5.urdf", "floating", "forward_dynamics", marks=pytest.mark.slow),
    ("panda.urdf", "fixed", "inverse_dynamics"),
)


def states(robot, quantity, count, seed=0):
    rng = np.random.default_rng(seed)
    q = rne.random_configuration(robot, rng, count)
    return [q, *(rng.normal(size=(count, robot.n)) for _ in QUANTITIES[quantity].inputs[1:])]


def terms_size(robot, quantity, rows):
    """The size of what is added up in an answer, which may cancel."""
    if quantity != "gravity_torque":
        return 0.0
    return 1e-2 * np.linalg.norm(robot.gravity) * robot.mass


@pytest.mark.parametrize(("name", "base", "quantity"), CASES)
def test_answers_are_the_plain_functions(name, base, quantity):
    robot = named(name, base)
    f = rne.bind_batch(robot, quantity)
    assert f.engine == ("general" if processor() is None else "straight_line")
    rows = states(robot, quantity, 203)
    expected = getattr(rne, quantity)(robot, *rows)
    assert relative_error(f(*rows), expected, terms_size(robot, quantity, rows)) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["straight_line", "general"])
@pytest.mark.parametrize("quantity", batched())
def test_joints_that_follow_others_and_prismatic_ones(engine, quantity):
    for robot in (gripper(), slider()):
        f = rne.bind_batch(robot, quantity, engine=engine, threads=1)
        rows = states(robot, quantity, 20)
        assert relative_error(f(*rows), getattr(rne, quantity)(robot, *rows)) < 1e-11


def test_any_number_of_rows_one_by_one_or_together():
    robot = named("puma560")
    f = rne.bind_batch(robot, "inverse_dynamics")
    rows = states(robot, "inverse_dynamics", 40)
    whole = f(*rows)
    for count in (0, 1, 2, 7, 8, 9, 15, 16, 17):
        part = f(*(row[:count] for row in rows))
        assert part.shape == (count, robot.n)
        assert np.array_equal(part, whole[:count])


@pytest.mark.parametrize("engine", ["straight_line", "general"])
def test_the_answer_does_not_depend_on_the_number_of_threads(engine):
    robot = named("puma560")
    rows = states(robot, "forward_dynamics", 5003)
    answers = [rne.bind_batch(robot, "forward_dynamics", engine=engine, threads=k)(*rows) for k in (1, 2, 5)]
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(answers[0], answers[2])


def test_what_lies_behind_the_last_row_is_left_alone():
    robot = named("puma560")
    f = rne.bind_batch(robot, "inverse_dynamics")
    rows = states(robot, "inverse_dynamics", 11)
    room = np.full((13, robot.n), 7.0)
    assert f(*rows, out=room[1:12]).base is room
    assert np.all(room[0] == 7.0)
    assert np.all(room[12] == 7.0)
    assert np.array_equal(room[1:12], f(*rows))


@pytest.mark.parametrize("engine", ["straight_line", "general"])
@pytest.mark.parametrize(("argument", "bad"), [(0, np.nan), (1, np.inf), (2, -np.inf)])
def test_what_is_not_finite_is_refused_by_name(engine, bad, argument):
    robot = named("puma560")
    f = rne.bind_batch(robot, "inverse_dynamics", engine=engine)
    rows = states(robot, "inverse_dynamics", 20)
    rows[argument][13, 4] = bad
    name = QUANTITIES["inverse_dynamics"].inputs[argument]
    with pytest.raises(ArgumentError, match=rf"{name}\[13, 4\] is {bad} \(joint 'joint5'\); every number must be fin"):
        f(*rows)


def test_an_input_that_no_result_needs_is_still_checked():
    robot = named("puma560")
    f = rne.bind_batch(robot, "gravity_torque")
    q = np.zeros((9, robot.n))
    q[8, 0] = np.nan  # the first axis is vertical: gravity does not depend on it
    with pytest.raises(ArgumentError, match=r"q\[8, 0\] is nan"):
        f(q)


def test_very_large_angles_are_computed_too():
    robot = named("puma560")
    f = rne.bind_batch(robot, "gravity_torque")
    q = states(robot, "gravity_torque", 30)[0]
    q[[3, 17], 1] = 1e12, -4e15
    assert relative_error(f(q), rne.gravity_torque(robot, q)) < 1e-11


@pytest.fixture(scope="module")
def telescope():
    """A mass on a rail that turns about a vertical axis: pulled in to the axis it has no inertia about it."""
    joints = (
        TreeJoint("turn", JointKind.REVOLUTE, "base", "post"),
        TreeJoint("rail", JointKind.PRISMATIC, "post", "mass", axis=np.array([1.0, 0.0, 0.0])),
    )
    return assemble(
        KinematicTree("telescope", (TreeLink("base"), TreeLink("post"), TreeLink("mass", Inertia(2.0))), joints)
    )


@pytest.mark.parametrize("engine", ["straight_line", "general"])
def test_a_state_without_inertia_raises_as_always(telescope, engine):
    f = rne.bind_batch(telescope, "forward_dynamics", engine=engine)
    rows = states(telescope, "forward_dynamics", 20)
    assert relative_error(f(*rows), rne.forward_dynamics(telescope, *rows)) < 1e-11
    rows[0][11, 1] = 0.0
    with pytest.raises(SingularInertiaError, match="joint 'turn' of robot 'telescope' moves no inertia"):
        f(*rows)


def test_a_robot_that_is_never_regular_is_left_to_the_general_kernels():
    joints = (TreeJoint("turn", JointKind.REVOLUTE, "base", "post"),)
    robot = assemble(KinematicTree("empty", (TreeLink("base"), TreeLink("post")), joints))
    with pytest.raises(SingularInertiaError, match="'turn'"):
        rne.bind_batch(robot, "forward_dynamics")(*np.zeros((3, 4, 1)))
    assert rne.bind_batch(robot, "mass_matrix")(np.zeros((4, 1))).tolist() == [[[0.0]]] * 4


@pytest.mark.parametrize(("width", "reads_strips"), [(2, False), (4, True), (8, True)])
def test_every_width_of_vectors(width, reads_strips):
    target = processor()
    if target is None or width > target.width:
        pytest.skip("not on this processor")
    robot, count = named("puma560"), 2501  # more than two strips, which are of 1024 rows
    program = trace(QUANTITIES["inverse_dynamics"].recipe(robot))
    text = module_text(program, replace(target, width=width), reads_strips=reads_strips)
    assert ("@read_strip" in text) is reads_strips
    addresses, _keep = load(linked(object_code(text, target, optimised=False)), {})
    rows = states(robot, "inverse_dynamics", count)
    out, refused = np.empty((count, robot.n)), np.full(count, 7, np.uint8)
    runner(addresses["run"], 3)(count, *(array.ctypes.data for array in (*rows, out, refused)))
    assert not refused.any()
    assert relative_error(out, rne.inverse_dynamics(robot, *rows)) < 1e-13


def test_arguments_are_converted_like_everywhere():
    robot = named("puma560")
    f = rne.bind_batch(robot, "gravity_torque")
    q = states(robot, "gravity_torque", 24)[0]
    expected = f(q)
    assert np.array_equal(f(np.asfortranarray(q)), expected)
    assert np.array_equal(f(q.tolist()), expected)
    assert np.array_equal(f(q[::2]), expected[::2])
    q.flags.writeable = False
    for engine in ("straight_line", "general"):
        assert relative_error(rne.bind_batch(robot, "gravity_torque", engine=engine)(q), expected) < 1e-14


def test_arguments_of_a_wrong_kind_are_named():
    robot = named("puma560")
    f = rne.bind_batch(robot, "inverse_dynamics")
    q, qd, qdd = states(robot, "inverse_dynamics", 9)
    for arguments, out, words in (
        ((q, qd), None, r"takes 3 arrays \(q, qd, qdd\), not 2"),
        ((q[0], qd, qdd), None, r"q has shape \(6,\); robot 'puma560' wants \(B, 6\)"),
        ((q, qd[:8], qdd), None, r"qd has shape \(8, 6\); robot 'puma560' wants \(9, 6\)"),
        ((q, qd, qdd[:, :5]), None, r"qdd has shape \(9, 5\)"),
        ((q, qd, "x"), None, "qdd is not an array of real numbers"),
        ((q, qd, qdd), np.empty((9, 5)), r"out is float64 of shape \(9, 5\); it must be .* of shape \(9, 6\)"),
        ((q, qd, qdd), np.empty((9, 6), np.float32), r"out is float32"),
        ((q, qd, qdd), np.empty((6, 9)).T, "C-contiguous"),
        ((q, qd, qdd), [1.0], "out is a list"),
        ((q, qd, qdd), qdd, "out shares memory with argument 2"),
    ):
        with pytest.raises(ArgumentError, match=words):
            f(*arguments, out=out)


def test_bind_batch_refuses_what_it_does_not_know():
    robot = named("puma560")
    for arguments, options, words in (
        (("inverse",), {}, "quantity is 'inverse'; it must be one of 'inverse_dynamics', "),
        (("mass_matrix",), {"engine": "fast"}, "engine is 'fast'; it must be one of 'straight_line', 'general'"),
        (("mass_matrix",), {"threads": 0}, "threads is 0; it must be a positive integer"),
        (("mass_matrix",), {"threads": True}, "threads is True"),
        (("mass_matrix",), {"threads": 1.5}, "threads is 1.5"),
    ):
        with pytest.raises(ArgumentError, match=words):
            rne.bind_batch(robot, *arguments, **options)


def test_bind_refuses_options_of_batches_that_it_does_not_know():
    robot = named("puma560")
    with pytest.raises(ArgumentError, match="engine is 'fast'"):
        rne.bind(robot, "inverse_dynamics", batch="fast")  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="threads is 2, but one state has no threads"):
        rne.bind(robot, "inverse_dynamics", threads=2)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="batches have no such option"):
        rne.bind(robot, "inverse_dynamics", batch="general", base_motion=rne.BaseMotion())  # type: ignore[call-overload]
