from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from support.arms import chain, floating_arm, gripper, slider
from support.mechanisms import delta, five_bar
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.control.model_terms import holding_terms
from rne_dynamics.control.supervision.load_check import FIRST_EFFORT, MOST_STARTS, LoadCheck
from rne_dynamics.control.supervision.payload_estimate import effort_units, end_bodies, gravity_load, outermost_link
from rne_dynamics.dynamics.newton_euler.newton_euler import gravity_torque
from rne_dynamics.errors import ControlError
from rne_dynamics.model.assembly import with_payload
from rne_dynamics.model.dice import random_configuration
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.tree import Friction, Payload

#: Two in every run, all with the soak tests.
ARMS = ("ur5_robot.urdf", "xarm7.urdf")
ALL = [*ARMS, *(pytest.param(name, marks=pytest.mark.soak) for name in ("panda.urdf", "kinova.urdf", "z1.urdf"))]
SHARE = 0.05  # tolerance as a fraction of the effort limit
STATES = 40  # random postures a test
MS = 1_000_000
STRETCHED = np.array([0.3, -0.7, 0.9, 0.4, 0.8, 0.2])  # of a UR5


@dataclass(frozen=True, eq=False)
class Arm:
    """An arm of the wheel with the settings of its check."""

    robot: rne.RobotModel
    tolerance: np.ndarray
    coulomb: np.ndarray

    def postures(self, seed: int):
        """Random postures, each with the generator for the rest of that trial."""
        for k in range(STATES):
            rng = np.random.default_rng([seed, k])
            yield random_configuration(self.robot, rng), rng

    def loaded_joint(self, gravity: np.ndarray, rng: np.random.Generator) -> int:
        """A joint whose gravity is well beyond what is allowed, or −1."""
        heavy = np.flatnonzero(np.abs(gravity) > 2.5 * (self.tolerance + self.coulomb))
        return int(rng.choice(heavy)) if len(heavy) else -1


@cache
def arm(name: str) -> Arm:
    robot = rne.load_urdf(wheel_urdf(name))
    friction = joint_friction(robot)
    return Arm(robot, SHARE * robot.effort_limit, np.maximum(friction.coulomb_forward, friction.coulomb_backward))


def held(check: LoadCheck, q, effort, states: int = 11, step: int = 100 * MS, noise=0.0, rng=None):
    """The verdict after an arm stood still at q."""
    for k in range(states):
        shown = effort if rng is None else effort + noise * rng.normal(size=len(effort))
        check.add(k * step, np.array(q), np.zeros(len(q)), shown)
    assert check.finished
    return check.verdict()


def verdict(case: Arm, q, effort, rng, **options):
    """The verdict on an arm with friction anywhere within Coulomb's and noise on top."""
    stuck = rng.uniform(-1.0, 1.0, case.robot.n) * case.coulomb
    check = LoadCheck(case.robot, case.tolerance, **options)
    return held(check, q, effort + stuck, noise=0.2 * case.tolerance, rng=rng)


def tilted(gravity, rng, least=10.0, most=90.0):
    """Gravity as a base tilted about a level axis feels it."""
    angle, heading = np.radians(rng.uniform(least, most)), rng.uniform(0.0, 2.0 * np.pi)
    size = np.linalg.norm(gravity)
    return size * np.array([np.sin(angle) * np.cos(heading), np.sin(angle) * np.sin(heading), -np.cos(angle)])


# -- nothing is wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_no_false_alarm_on_the_arm_that_was_modelled(name):
    case = arm(name)
    for q, rng in case.postures(0):
        found = verdict(case, q, gravity_torque(case.robot, q), rng)
        assert found.agrees
        assert found.checked
        assert found.causes == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_hardware_that_compensates_gravity_may_report_it_or_not(name):
    case = arm(name)
    for q, rng in case.postures(1):
        gravity = gravity_torque(case.robot, q)
        for reported in (gravity, np.full(case.robot.n, 1e-9)):
            found = verdict(case, q, reported, rng, compensated=frozenset({"gravity"}))
            assert found.agrees
            assert found.checked
    q = np.full(case.robot.n, 0.5)
    if (np.abs(gravity_torque(case.robot, q)) > 3.0 * case.tolerance).any():
        assert "compensates itself" in verdict(
            case, q, np.full(case.robot.n, 1e-9), rng, compensated=frozenset({"gravity"})
        ).text


# -- something is wrong: the right culprit ----------------------------------------------------------------------------


def joint_times(factor: float):
    def alter(case, q, gravity, rng):
        j = case.loaded_joint(gravity, rng)
        return None if j < 0 else gravity * np.where(np.arange(case.robot.n) == j, factor, 1.0)

    return alter


def exchanged(case, q, gravity, rng):
    two, swapped = rng.choice(case.robot.n, 2, replace=False), gravity.copy()
    swapped[two] = swapped[two[::-1]]
    return swapped


def on_a_tilted_base(case, q, gravity, rng):
    return gravity_load(case.robot, q).field @ tilted(case.robot.gravity, rng)


#: Seed, the efforts that are reported, the cause's kinds, the least parts of the postures in which one of these is
#: named and in which the first one is the likeliest, and what the text says then.
ALTERATIONS = {
    "sign of a joint": (2, joint_times(-1.0), ("sign", "signs"), 1.0, 0.95, "effort_scale.{joint}"),
    "scale 0.4": (3, joint_times(0.4), ("scale",), 0.95, 0.8, ""),
    "scale 2": (3, joint_times(2.0), ("scale",), 0.95, 0.8, ""),
    "unit of a joint": (4, joint_times(1000.0), ("unit",), 0.95, 0.95, ""),
    "all units": (5, lambda case, q, gravity, rng: 1000.0 * gravity, ("unit",), 0.95, 0.95, "every effort_scale"),
    "all signs": (6, lambda case, q, gravity, rng: -gravity, ("signs",), 1.0, 0.0, ""),
    "no gravity": (7, lambda case, q, gravity, rng: np.full_like(gravity, 1e-9), ("no gravity",), 0.9, 0.9,
                   "hardware_compensates"),
    "exchanged joints": (8, exchanged, ("order",), 0.95, 0.9, ""),
    "tilted base": (10, on_a_tilted_base, ("tilt",), 0.95, 0.7, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("what", ALTERATIONS)
def test_what_is_altered_is_named(name, what):
    case, (seed, alter, kinds, named, first, said) = arm(name), ALTERATIONS[what]
    seen = []
    for q, rng in case.postures(seed):
        altered = alter(case, q, gravity_torque(case.robot, q), rng)
        if altered is not None and not (found := verdict(case, q, altered, rng)).agrees:
            seen.append(([cause.kind for cause in found.causes], found))
    assert len(seen) >= 12, "too few postures show the alteration for a verdict on the check"
    assert np.mean([not set(kinds).isdisjoint(causes) for causes, _ in seen]) >= named
    assert np.mean([causes[:1] == [kinds[0]] for causes, _ in seen]) >= first
    for causes, found in seen:
        if causes[:1] == [kinds[0]] or what == "no gravity":
            joints = found.causes[0].joints if "{" in said else ("",)
            assert all(said.format(joint=joint) in found.text for joint in joints)


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_a_payload_the_model_does_not_know(name):
    case = arm(name)
    body = end_bodies(case.robot)[0]
    link, errors, kinds_of = outermost_link(case.robot, body), [], []
    for q, rng in case.postures(9):
        payload = Payload(link, rng.uniform(1.0, 5.0), 0.06 * rng.normal(size=3))
        found = verdict(case, q, gravity_torque(with_payload(case.robot, payload), q), rng)
        if found.agrees:
            continue
        kinds_of.append([cause.kind for cause in found.causes])
        for cause in found.causes:
            if cause.kind == "payload" and "first moment" not in cause.text:  # else: its mass is not seen
                errors.append(float(cause.text.split(" kg")[0]) / payload.mass - 1.0)
                assert f"kg more at link {link!r}" in cause.text
    assert np.mean(["payload" in kinds for kinds in kinds_of]) >= 0.97
    assert np.mean([kinds[:1] == ["payload"] for kinds in kinds_of]) >= 0.9
    assert np.median(np.abs(errors)) < 0.15


# -- how exact, where nothing disturbs --------------------------------------------------------------------------------


def cause_of(found, kind):
    return next(cause for cause in found.causes if cause.kind == kind)


def test_a_payload_is_weighed_exactly_where_nothing_rubs():
    robot = arm("ur5_robot.urdf").robot
    loaded = with_payload(robot, Payload("wrist_3_link", 3.0, np.array([0.02, 0.05, 0.06])))
    missing = with_payload(robot, Payload("wrist_3_link", 2.0, np.zeros(3)))
    gravity, more = (gravity_torque(one, STRETCHED) for one in (robot, loaded))
    for model, options, effort, said in (
        (robot, {}, more, "3 kg more"), (missing, {}, gravity, "2 kg less"),
        (robot, {"compensated": frozenset({"gravity"})}, more - gravity, "3 kg more"),
    ):
        found = held(LoadCheck(model, 0.01, **options), STRETCHED, effort)
        assert cause_of(found, "payload").text.startswith(f"{said} at link 'wrist_3_link'")
    assert "without the gravity" in found.text
    assert "the arm's own software" in found.text


@pytest.mark.parametrize("seed", range(2))
def test_a_tilt_is_measured_exactly_where_nothing_rubs(seed):
    case = arm("ur5_robot.urdf")
    rng = np.random.default_rng(seed)
    gravity = tilted(case.robot.gravity, rng, most=60.0)
    q = STRETCHED
    found = held(LoadCheck(case.robot, 0.01), q, gravity_load(case.robot, q).field @ gravity)
    text = cause_of(found, "tilt").text
    said = np.array([float(x) for x in text.split("[")[1].split("]")[0].split(",")])
    np.testing.assert_allclose(said, gravity, atol=0.03)
    angle = np.degrees(np.arccos(-gravity[2] / np.linalg.norm(gravity)))
    assert f"tilted by {angle:.0f} degrees" in text
    # turning the base about the named axis gives that gravity in its axes
    axis = np.array([float(x) for x in text.split("about (")[1].split(")")[0].split(",")])
    turned = rotation(axis, np.radians(angle)).T @ case.robot.gravity
    np.testing.assert_allclose(turned, gravity, atol=0.1)


def rotation(axis, angle):
    """Rodrigues' formula."""
    x, y, z = axis / np.linalg.norm(axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def test_causes_that_one_posture_cannot_distinguish_are_all_named():
    case, q = arm("ur5_robot.urdf"), STRETCHED
    upside_down = held(LoadCheck(case.robot, 0.5), q, -gravity_torque(case.robot, q))
    assert {"signs", "tilt"} <= {cause.kind for cause in upside_down.causes}
    assert "does not rule out" in upside_down.text
    one = np.array(gravity_torque(case.robot, q))
    one[1] *= 1.7
    alone = held(LoadCheck(case.robot, 0.5), q, one)
    assert "one posture cannot decide which" in alone.text


def test_what_no_single_cause_explains_names_the_joints():
    case, q = arm("ur5_robot.urdf"), STRETCHED
    effort = gravity_torque(case.robot, q) + np.array([40.0, -25.0, 31.0, -9.0, 12.0, 7.0])
    found = held(LoadCheck(case.robot, 0.5), q, effort)
    assert not found.agrees
    assert found.causes == ()
    assert "No single" in found.text
    assert "'shoulder_pan_joint' reports 40 N m, the model has" in found.text


def test_motor_currents_are_suspected_where_every_joint_has_a_factor_of_its_own():
    case, q = arm("ur5_robot.urdf"), STRETCHED
    effort = gravity_torque(case.robot, q) * np.array([0.1, 0.08, 0.22, 0.6, 0.6, 0.6])
    found = held(LoadCheck(case.robot, np.array([0.5, 0.5, 0.5, 0.05, 0.05, 0.05])), q, effort)
    assert "currents" in found.text


# -- gathering --------------------------------------------------------------------------------------------------------


def two_joints():
    return chain(2, friction=Friction(0.0, 0.3, 0.1))


def test_friction_widens_what_is_allowed():
    robot = two_joints()
    q = np.array([0.3, 0.2])
    gravity = gravity_torque(robot, q)
    assert held(LoadCheck(robot, 0.1), q, gravity + 0.39).agrees
    assert not held(LoadCheck(robot, 0.1), q, gravity + 0.41).agrees


def test_it_takes_the_duration_and_a_few_states():
    robot, zero = two_joints(), np.zeros(2)
    check = LoadCheck(robot, 1.0, 0.5)
    for k in range(5):
        check.add(k * 100 * MS, zero, zero, zero)
        assert not check.finished
        with pytest.raises(ControlError, match="not finished"):
            check.verdict()
    check.add(500 * MS, zero, zero, zero)
    assert check.finished


def test_a_hand_on_the_arm_starts_it_anew_and_in_the_end_refuses():
    robot, zero = two_joints(), np.zeros(2)
    q = np.array([0.3, 0.2])
    check = LoadCheck(robot, 0.1)
    # while it moves the efforts are wild; what counts is what comes after
    for k in range(10):
        check.add(k * 100 * MS, q + 0.06 * k, zero, np.full(2, 99.0))
    rest = q + 0.06 * 9
    for k in range(10, 20):
        assert not check.finished
        check.add(k * 100 * MS, rest, zero, gravity_torque(robot, rest))
    assert check.verdict().agrees

    restless = LoadCheck(robot, 0.1)
    for k in range(3 * MOST_STARTS):
        restless.add(k * 100 * MS, q + np.array([0.0, 0.1 * k]), zero, zero)
    assert restless.finished
    found = restless.verdict()
    assert not found.agrees
    assert not found.checked
    assert "did not keep still" in found.text
    assert "'joint2'" in found.text


def test_a_clock_set_back_starts_it_anew():
    robot, zero = two_joints(), np.zeros(2)
    check = LoadCheck(robot, 0.1)
    for k in range(8):
        check.add(10**12 + k * 100 * MS, zero, zero, zero)
    for k in range(10):
        check.add(k * 100 * MS, zero, zero, gravity_torque(robot, zero))
        assert not check.finished
    check.add(1000 * MS, zero, zero, gravity_torque(robot, zero))
    assert check.verdict().agrees


def test_efforts_that_are_not_reported_are_not_judged():
    robot, q = two_joints(), np.array([0.3, 0.2])
    for nothing in (np.full(2, np.nan), np.zeros(2)):
        found = held(LoadCheck(robot, 0.1), q, nothing)
        assert found.agrees
        assert not found.checked
        assert "not checked" in found.text
    half = np.array(gravity_torque(robot, q))
    half[0] = np.nan
    found = held(LoadCheck(robot, 0.1), q, half)
    assert found.agrees
    assert not found.checked
    assert "(no effort reported by joint1)" in found.text
    half[1] += 5.0
    assert not held(LoadCheck(robot, 0.1), q, half).agrees


@pytest.mark.parametrize("begin", [1, 39])
def test_drives_that_begin_to_act_late_are_not_accused(begin):
    """Behind an effort gate, and while brakes open, a driver reports zeros first."""
    case = arm("ur5_robot.urdf")
    gravity, check = gravity_torque(case.robot, STRETCHED), LoadCheck(case.robot, case.tolerance)
    for k in range(begin + 12):
        if not check.finished:
            check.add(k * 100 * MS, STRETCHED, np.zeros(6), gravity if k >= begin else np.zeros(6))
    found = check.verdict()
    assert found.agrees, found.text
    assert found.checked


@pytest.mark.parametrize(("heavier", "seconds"), [(1.0, 1.0 + FIRST_EFFORT), (1e3, 1.0)])
def test_first_effort_is_awaited_for_a_limited_time_and_only_against_gravity(heavier, seconds):
    case = arm("ur5_robot.urdf")
    check, last = LoadCheck(case.robot, heavier * case.tolerance), 0
    while not check.finished:
        check.add(last * 100 * MS, STRETCHED, np.zeros(6), np.zeros(6))
        last += 1
    assert (last - 1) * 0.1 == pytest.approx(seconds)
    assert "not checked" in check.verdict().text


def test_gaps_in_the_efforts_do_not_pull_the_mean():
    robot, q = two_joints(), np.array([0.3, 0.2])
    check = LoadCheck(robot, 0.1)
    for k in range(11):
        shown = gravity_torque(robot, q) if k % 3 else np.array([np.nan, np.inf])
        check.add(k * 100 * MS, q, np.zeros(2), shown)
    found = check.verdict()
    assert found.agrees
    assert found.checked


def test_joints_that_this_posture_does_not_test_are_named():
    robot, q = arm("ur5_robot.urdf").robot, STRETCHED
    text = held(LoadCheck(robot, 1.0), q, gravity_torque(robot, q)).text
    assert "shoulder_pan_joint" in text
    assert "not tested" in text
    assert "shoulder_lift_joint" not in text


@pytest.mark.parametrize("make", [five_bar, delta])
def test_mechanisms_with_closed_loops(make):
    mechanism = make()
    q = mechanism.posture[mechanism.actuated]
    gravity = holding_terms(mechanism, q, np.zeros(mechanism.n), mechanism.posture)[0]
    tolerance = 0.05 * np.abs(gravity).max()
    check = LoadCheck(mechanism, tolerance, posture=mechanism.posture)
    check.warm_up()
    assert held(check, q, gravity).agrees
    j = int(np.argmax(np.abs(gravity)))
    altered = gravity.copy()
    altered[j] *= -1.0
    found = held(LoadCheck(mechanism, tolerance), q, altered)
    assert not found.agrees
    assert found.causes[0].kind in ("sign", "signs")
    assert {cause.kind for cause in found.causes}.isdisjoint({"tilt", "payload"})


@pytest.mark.parametrize("robot", [slider(axis=(0.0, 0.0, 1.0)), gripper(), chain(1)], ids=lambda r: r.name)
def test_small_and_odd_robots(robot):
    check = LoadCheck(robot, 0.05)
    check.warm_up()
    assert not check.finished
    q = np.full(robot.n, 0.1)
    assert held(check, q, gravity_torque(robot, q)).agrees
    found = held(LoadCheck(robot, 0.05), q, gravity_torque(robot, q) + 3.0)
    assert not found.agrees
    assert robot.joint_names[0] in found.text
    assert effort_units(robot)[0] == ("N" if robot.name == "slider" else "N m")


def test_fingers_are_listed_behind_their_hand():
    robot = arm("panda.urdf").robot
    assert [outermost_link(robot, body) for body in end_bodies(robot)] == ["panda_hand_tcp"]
    assert outermost_link(arm("xarm7.urdf").robot, end_bodies(arm("xarm7.urdf").robot)[0]) == "link_eef"


@pytest.mark.parametrize("options", [
    {"tolerance": 0.0}, {"tolerance": [0.1, -1.0]}, {"tolerance": np.nan}, {"tolerance": [0.1] * 3},
    {"tolerance": 0.1, "duration": 0.0}, {"tolerance": 0.1, "duration": np.nan}, {"tolerance": 0.1, "duration": np.inf},
])  # fmt: skip
def test_values_out_of_range_are_refused(options):
    with pytest.raises(ControlError, match="startup_check"):
        LoadCheck(two_joints(), **options)


def test_a_floating_joint_is_refused():
    with pytest.raises(ControlError, match="floating joint"):
        LoadCheck(floating_arm(), 0.1)
