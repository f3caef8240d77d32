"""Verdicts of controlled moves: moved as asked and tracked or not, the cause that the run shows, and the remedy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.cli.verdict import tracking_verdict
from rne_dynamics.cli.with_ros.moves import LEAST_PART, USED, peak_effort, plan_moves
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.tracking_verdict import Cause, Outcome, Reports, Run, judge

MOVE = ["puma560", "--to", "joint2=-0.6", "--to", "joint3=0.5"]
ARM = """
<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 {z}"/><mass value="0.4"/>
    <inertia ixx="0.003" ixy="0" ixz="0" iyy="0.003" iyz="0" izz="0.0003"/></inertial></link>
  <joint name="pitch" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="{effort}" velocity="2"/><dynamics damping="0.1" friction="{friction}"/></joint>
</robot>
"""


def arm(effort: float, friction: float, z: float = -0.15) -> str:
    """A hanging link on one motor."""
    return ARM.format(effort=effort, friction=friction, z=z)


@pytest.mark.parametrize(("words", "cause", "joint", "said", "remedies"), [
    (["puma560", "--seconds", "2"], None, None, "tracked: the largest error is of joint", ()),
    (["puma560", "--to", "joint2=-0.6", "--seconds", "1", "--unknown-payload", "link6=20"], "other_saturated", "joint3",
     "joint 'joint2' was at its effort limit of 186 N m", ()),
    (["puma560", "--to", "joint1=1.5", "--seconds", "0.5"], "saturated", "joint1", "; take more time, less load", ()),
    ([*MOVE, "--seconds", "2", "--unknown-payload", "link6=3"], "unknown_effort", "joint2",
     "that its model does not explain", (["--bandwidth", "55"],)),
    (["panda", "--seconds", "3", "--law", "pd_gravity"], "no_feedforward", None, "take computed torque",
     (["--law", "computed_torque"],)),
    (["panda", "--to", "panda_joint7=0.5", "--seconds", "3", "--no-friction-compensation"], "friction", "panda_joint7",
     "compensate more of it (friction_compensation is 0), or take a gain 36 times as high",
     (None, ["--bandwidth", "240", "--control-rate", "2000"])),
    (["cylindrical", "--to", "joint3=0.2", "--seconds", "1", "--tolerance", "1e-6"], "unknown", "joint3", " mm", ()),
    (["puma560", "--bandwidth", "3", "--control-rate", "20"], "unknown", None, "the cause is not known", ()),
])  # fmt: skip
def test_a_simulation_ends_with_its_verdict_and_its_remedies_help(
    words, cause, joint, said, remedies, figures, run_rne
):
    verdict = figures("simulate", *words, code=int(cause is not None))["verdict"]
    text = verdict["text"]
    assert said in text
    assert text.startswith("tracked" if cause is None else ("did not track: joint ", "moved less than asked: joint "))
    assert (verdict["cause"], joint or verdict["joint"]) == (cause, verdict["joint"])
    assert verdict["tracked"] is verdict["passed"] is (cause is None)
    for remedy in remedies:
        tried = [w for w in words if w != "--no-friction-compensation"] if remedy is None else [*words, *remedy]
        run_rne("simulate", *tried)


@pytest.mark.parametrize(("text", "outcome"), [
    (arm(2.0, 3.0), "not_moved"), (arm(0.8, 0.6), "less_travel"), (arm(2.0, 0.1), "tracked"),
])  # fmt: skip
def test_travel_that_was_not_made_comes_first(text, outcome, tmp_path, simulated):
    """With friction above the effort limit moves shrank to 1 mrad, and an arm that stood still was within 1 mrad."""
    (tmp_path / "arm.urdf").write_text(text)
    page = ["--report", tmp_path / "page.html"] if outcome == "not_moved" else []
    verdict = simulated(tmp_path / "arm.urdf", "--seconds", "3", *page)["verdict"]
    passed = outcome == "tracked"
    assert (verdict["outcome"], verdict["passed"]) == (outcome, passed)
    assert not page or "Not passed: " in page[1].read_text()
    assert passed or (verdict["cause"] == "saturated" and "so more time does not help" in verdict["text"])


def test_moves_are_reduced_for_weak_drives_as_long_as_they_can_be_seen():
    full, lifting = plan_moves(rne.load_urdf(arm(2.0, 0.1)), 3.0), rne.load_urdf(arm(0.65, 0.1))
    reduced = plan_moves(lifting, 3.0)
    assert (LEAST_PART * full.travel <= reduced.travel).all()
    assert (reduced.travel < full.travel).all()
    assert (peak_effort(lifting, reduced.moves) <= USED * lifting.effort_limit).all()
    assert (full.note, "reduced to" in reduced.note) == ("", True)
    hopeless = plan_moves(rne.load_urdf(arm(2.0, 3.0)), 3.0)
    assert (hopeless.travel == full.travel).all()
    assert "'pitch' needs 3.398" in hopeless.note
    with pytest.raises(rne.errors.ModelError, match="no joint of robot 'arm' can move"):
        plan_moves(rne.load_urdf(arm(2.0, 0.1).replace('lower="-2" upper="2"', 'lower="0" upper="0"')), 3.0)


def run_of(q, error, *, effort=1.0, missed=0.0, asked=0.0, reports=None):
    """A run of planar2 at 1 kHz, the same for both joints but for the error, which is the first one's."""
    rows = len(q)
    errors = np.column_stack((error, np.zeros(rows)))
    time, both = 1e-3 * np.arange(rows), np.column_stack((q, q))
    return Run(
        time, both, np.gradient(both, time, axis=0), errors, np.full((rows, 2), effort),
        np.sqrt(np.mean(errors**2, axis=0)), np.full(2, asked), np.full(2, 50.0), {}, missed, reports or Reports(),
    )  # fmt: skip


def test_causes_in_their_order():
    robot, gains = rne.load_urdf("planar2"), Gains.critically_damped(2, 40.0)
    moving, still, large = np.linspace(0.0, 0.1, 100), np.zeros(100), np.full(100, 0.01)
    for run, cause in (
        (run_of(moving, 0.0 * large), None),
        (run_of(moving, large, effort=50.0), Cause.SATURATED),
        (run_of(still + robot.upper[0], large), Cause.POSITION_LIMIT),
        (run_of(still + robot.upper[0], -large), Cause.UNKNOWN),  # it moves away from the limit
        (run_of(moving, large, reports=Reports(limited=10, limit="a wall")), Cause.LIMITED),
        (run_of(moving, large, missed=0.1), Cause.LATE),
        (run_of(still, large), Cause.UNKNOWN),  # there is no friction
    ):
        assert judge(robot, gains, run, 1e-3).cause is cause
    assert judge(robot, gains, run_of(moving, np.full(100, np.nan)), 1e-3).cause is not None, "NaN never tracks"
    # errors are judged against the travel, unless the tolerance was given
    error, near = np.full(100, 5e-4), np.linspace(0.0, 0.01, 100)
    for run, relative, outcome in (
        (run_of(moving, error, asked=0.1), True, Outcome.TRACKED),
        (run_of(near, error, asked=0.01), True, Outcome.NOT_TRACKED),
        (run_of(near, error, asked=0.01), False, Outcome.TRACKED),
        (run_of(near, error, asked=0.1), False, Outcome.LESS_TRAVEL),
        (run_of(near, error, asked=1.0), True, Outcome.NOT_MOVED),
        (run_of(moving, error), True, Outcome.TRACKED),  # nothing was asked
    ):
        assert judge(robot, gains, run, 1e-3, relative=relative).outcome is outcome


def test_what_the_controller_reports_comes_before_what_was_measured():
    robot, gains = rne.load_urdf("planar2"), Gains.critically_damped(2, 40.0)
    moving, large = np.linspace(0.0, 0.1, 100), np.full(100, 0.01)
    stopped = Reports("fault: overspeed", "path tolerance violated: it is off", "too fast", 5, "a wall", 0.0)
    aborted, missed = replace(stopped, stopped=""), Reports(missed="goal missed: it moves")
    for reports, error, goals, start, said in (
        (stopped, large, True, "did not track", "the controller reports fault: overspeed; joint 'joint1' was at its"),
        (aborted, large, True, "did not track", "reports path tolerance violated: it is off"),
        (replace(aborted, aborted=""), large, True, "did not track", "refused the trajectory: too fast"),
        (Reports(speed=0.0), large, True, "did not track", "set speed_scaling above 0"),
        (aborted, 0.0 * large, True, "did not track", "path tolerance violated"),  # whatever the error is
        (missed, 0.0 * large, True, "did not track", "reports goal missed: it moves; its effort was at its limit"),
        (missed, 0.0 * large, False, "tracked", "; the controller reports goal missed: it moves"),  # links vibrate
        (Reports(speed=0.2), 0.0 * large, True, "tracked at 0.2 of full speed (speed_scaling)", ""),
    ):
        run = run_of(moving, error, effort=50.0, asked=0.1, reports=reports)
        text = tracking_verdict(robot, judge(robot, gains, run, 1e-3, goals=goals)).text
        assert text.startswith(start)
        assert said in text


def test_a_joint_that_friction_holds():
    """Compensation follows the reference, so an arm at rest keeps the error that friction holds against the gain."""
    robot, gains = rne.load_urdf("panda"), Gains.critically_damped(7, 40.0)
    error, still = np.zeros((50, 7)), np.zeros((50, 7))
    error[:, 6] = 2.8e-3
    run = Run(1e-3 * np.arange(50), np.tile(robot.neutral, (50, 1)), still, error, still, np.abs(error[0]), np.zeros(7),
              robot.effort_limit)  # fmt: skip
    found = judge(robot, gains, run, 1e-3)
    assert found.cause is Cause.FRICTION
    assert found.effort > found.reach > 0.0
    advice = "make the description's friction that of the arm, or take a gain 36 times as high"  # all is compensated
    assert tracking_verdict(robot, found).text.endswith(advice)
    assert judge(robot, gains, run, 1e-3, friction=False).cause is Cause.UNKNOWN
