"""Fastest moves for a controller: its limits, a start outside them, and gentler motions where it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.supervised import accepted, settings, table

import rne_dynamics as rne
from rne_dynamics.cli.main import main
from rne_dynamics.control.motion.retiming import FastestMotion
from rne_dynamics.errors import ModelError, TrajectoryError
from rne_dynamics.recording.yaml_files import write_trajectory

WAY = np.array([[0.0, -0.5, 0.0, -1.8, 0.0, 1.5, 0.4], [0.9, 0.2, 0.8, -1.2, -0.7, 1.9, -1.0]])


def test_limits_of_the_controller_are_kept_and_the_start_may_be_outside():
    pytest.importorskip("toppra")
    robot, way = rne.load_urdf("panda"), WAY.copy()
    way[0, 5] = robot.lower[5] - 0.001
    whole = FastestMotion(robot).along(way)
    less = FastestMotion(robot, 0.5 * robot.velocity_limit, 0.8 * robot.effort_limit, 20.0 * robot.effort_limit)
    motion = less.along(way)
    assert (np.abs(motion.velocities) <= 0.5 * robot.velocity_limit).all()
    assert whole.duration < motion.duration
    efforts = rne.inverse_dynamics(robot, motion.positions, motion.velocities, motion.accelerations)
    assert (np.abs(efforts) <= 0.8 * robot.effort_limit).all()
    assert (np.abs(np.diff(efforts, axis=0)) <= 20.5 * robot.effort_limit * motion.times[1]).all()
    with pytest.raises(TrajectoryError, match="waypoint 1: joint 'panda_joint6'"):
        FastestMotion(robot).along(way[::-1])


def test_a_motion_that_a_weak_controller_refuses_is_planned_gentler_until_it_is_accepted():
    pytest.importorskip("toppra")
    robot = rne.load_urdf("panda")
    planner, shares, durations = FastestMotion(robot), [1.0], []
    while True:
        motion = planner.along(WAY)
        durations.append(motion.duration)
        points = table(motion.times, motion.positions, motion.velocities, motion.accelerations)
        try:
            accepted(settings(robot, bandwidth=12.0), WAY[0], points)
            break
        except TrajectoryError as error:
            assert "before the feedback reacts" in str(error)  # noqa: PT017  # which refusal it is
            share = planner.be_gentler()
            assert share is not None
            shares.append(share)
    assert 1 < len(shares) < 5
    assert (np.diff(durations) > 0.0).all()
    assert shares == pytest.approx(0.5 ** np.arange(len(shares)))
    assert durations[-1] < 1.6 * durations[0]


def test_gentler_motions_have_an_end_and_mechanisms_are_refused():
    planner = FastestMotion(rne.load_urdf("panda"))
    assert planner.be_gentler() is None  # nothing is planned
    with pytest.raises(ModelError, match="closed loops"):
        FastestMotion(rne.load_model("pantograph"))


def test_rne_simulate_moves_as_fast_and_names_what_does_not_go_with_it(tmp_path, capsys):
    pytest.importorskip("toppra")
    assert main(["simulate", "planar2", "--to", "joint2=-0.7", "--fastest", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"]["passed"]
    file = tmp_path / "way.yaml"
    robot = rne.load_urdf("planar2")
    still = np.zeros((3, 2))
    write_trajectory(file, rne.SampledTrajectory([0.0, 2.0, 4.0], [[0.0, 0.0], [1.0, 0.5], [0.0, 1.0]], still, still,
                                                 robot.joint_names[::-1]))  # fmt: skip
    out = tmp_path / "run.npz"
    assert main(["simulate", "planar2", "--trajectory", str(file), "--fastest", "--out", str(out)]) == 0
    run = np.load(out)
    assert run["time"][-1] < 2.0
    np.testing.assert_allclose(run["q"][-1], [1.0, 0.0], atol=0.01)  # the file names joint2 first
    capsys.readouterr()
    for words, said in (
        (["puma560", "--fastest"], "--fastest needs --to or --trajectory"),
        (["puma560", "--fastest", "--to", "joint1=1", "--seconds", "2"], "--seconds is not for --fastest"),
        (["puma560", "--fastest", "--free"], "--fastest is for a controlled move"),
        (["pantograph", "--fastest", "--to", "joint1=0.5"], "has closed loops"),
    ):
        assert main(["simulate", *words]) == 1
        assert said in capsys.readouterr().err
