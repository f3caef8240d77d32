"""Verdicts of controlled moves: tracked or not, the cause that the run shows, and the remedy."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.cli.main import main
from rne_dynamics.cli.verdict import verdict_line
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.tracking_verdict import Cause, Run, judge

MOVE = ["puma560", "--to", "joint2=-0.6", "--to", "joint3=0.5"]


@pytest.mark.parametrize(("words", "cause", "joint", "said"), [
    (["puma560", "--seconds", "3"], None, None, "tracked: the largest RMS error is 0.0"),
    (["puma560", "--to", "joint2=-0.6", "--seconds", "1", "--payload", "link6=20"], "other_saturated", "joint3",
     "joint 'joint2' was at its effort limit of 186 N m"),
    ([*MOVE, "--seconds", "2", "--payload", "link6=3"], "unknown_effort", "joint2", "that its model lacks"),
    (["panda", "--seconds", "3", "--law", "pd_gravity"], "no_feedforward", None, "take computed torque"),
    (["panda", "--seconds", "3", "--no-friction-compensation"], "friction", "panda_joint7",
     "its friction (0.282 N m) against the gain's reach 0.00786 N m; try friction_compensation or a higher gain"),
    (["cylindrical", "--seconds", "3", "--tolerance", "1e-6"], "unknown_effort", "joint3", " mm, allowed is 0.001 mm"),
])  # fmt: skip
def test_a_simulation_ends_with_its_verdict(words, cause, joint, said, capsys):
    assert main(["simulate", *words]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert said in line
    assert line.startswith("tracked" if cause is None else "did not track: joint ")
    assert main(["simulate", *words, "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    assert verdict["cause"] == cause
    assert joint in (None, verdict["joint"])
    assert verdict["tracked"] is (cause is None)
    assert verdict["text"] == line


def test_free_motion_has_no_verdict(capsys):
    assert main(["simulate", "planar2", "--free", "--seconds", "0.2", "--json"]) == 0
    assert "verdict" not in json.loads(capsys.readouterr().out)


def run_of(q, error, *, effort=1.0, missed=0.0):
    """A run of planar2 at 1 kHz, the same for both joints but for the error, which is the first one's."""
    rows = len(q)
    errors = np.column_stack((error, np.zeros(rows)))
    return Run(
        1e-3 * np.arange(rows), np.column_stack((q, q)), errors, np.full((rows, 2), effort),
        np.sqrt(np.mean(errors**2, axis=0)), np.full(2, 50.0), missed,
    )  # fmt: skip


def test_causes_in_their_order():
    robot, gains = rne.load_urdf("planar2"), Gains.critically_damped(2, 40.0)
    moving, still, large = np.linspace(0.0, 0.1, 100), np.zeros(100), np.full(100, 0.01)

    def cause(run, **options):
        return judge(robot, gains, run, 1e-3, **options).cause

    assert cause(run_of(moving, 0.0 * large)) is None
    assert cause(run_of(moving, large, effort=50.0)) is Cause.SATURATED
    assert cause(run_of(still + robot.upper[0], large)) is Cause.POSITION_LIMIT
    assert cause(run_of(still + robot.upper[0], -large)) is Cause.UNKNOWN_EFFORT, "it moves away from the limit"
    assert cause(run_of(moving, large), feedforward=False) is Cause.NO_FEEDFORWARD
    assert cause(run_of(moving, large, missed=0.1)) is Cause.LATE
    assert cause(run_of(still, large)) is Cause.UNKNOWN_EFFORT, "there is no friction"
    assert cause(run_of(moving, np.full(100, np.nan))) is not None, "NaN never tracks"


def test_a_joint_that_friction_holds():
    """Compensation follows the reference, so an arm at rest keeps the error that friction holds against the gain."""
    robot, gains = rne.load_urdf("panda"), Gains.critically_damped(7, 40.0)
    error = np.zeros((50, 7))
    error[:, 6] = 2.8e-3
    run = Run(1e-3 * np.arange(50), np.tile(robot.neutral, (50, 1)), error, np.zeros((50, 7)), np.abs(error[0]),
              robot.effort_limit)  # fmt: skip
    found = judge(robot, gains, run, 1e-3)
    assert found.cause is Cause.FRICTION
    assert found.effort > found.reach > 0.0
    line = verdict_line(robot, found)
    assert line.startswith("did not track: joint 'panda_joint7', RMS error 2.8 mrad, allowed is 1 mrad: its friction (")
    assert judge(robot, gains, run, 1e-3, friction=False).cause is Cause.UNKNOWN_EFFORT
