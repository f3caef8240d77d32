"""Residuals of a simulated arm: their parts, and the filter that all of them pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from support.logged_arms import logged, motion
from support.robots import robot as named
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.errors import RecordingError
from rne_dynamics.identification.motion import LowPass, Motion, joined, motion_of, motions_of, residual, rms
from rne_dynamics.recording.recording import Recording


def sampled(robot, seed=1):
    t, q, qd, qdd = motion(robot, seed, 12.0)
    return Motion("run", float(t[1]), q, qd, qdd, np.zeros_like(q), 2.0)


def test_torques_of_another_library_leave_nothing():
    path = wheel_urdf("ur5_robot.urdf")
    robot, model = rne.load_urdf(path, rotors=False), pin.buildModelFromUrdf(str(path))
    run, data = sampled(robot), model.createData()
    order = [model.joints[model.getJointId(name)].idx_v for name in robot.joint_names]
    states = [np.zeros((3, model.nv)) for _ in run.q]
    for state, rows in zip(states, zip(run.q, run.qd, run.qdd, strict=True), strict=True):
        state[:, order] = rows
    tau = np.stack([pin.rnea(model, data, *state)[order] for state in states])
    tau += rne.friction_torque(robot, run.qd)
    found = residual(robot, run._replace(effort=tau))
    assert np.abs(found.error).max() < 1e-9 * np.abs(found.measured).max()
    gravity = np.stack([pin.computeGeneralizedGravity(model, data, state[0])[order] for state in states])
    assert np.allclose(found.parts["gravity"], LowPass(run)(gravity), atol=1e-9)


def test_parts_sum_up_and_a_known_load_is_found():
    robot = named("puma560")
    run = sampled(robot)
    tau = rne.inverse_dynamics(robot, run.q, run.qd, run.qdd) + rne.friction_torque(robot, run.qd)
    load = np.arange(6.0) + 1.0
    found = residual(robot, run._replace(effort=tau + load))
    assert np.allclose(found.error, load, atol=1e-9)
    assert set(found.parts) == {"gravity", "inertia", "friction", "offset"}
    whole = joined([found, found])
    assert (np.diff(whole.t) > 0.0).all()
    assert np.allclose([whole.columns()["bias"], rms(whole.error)], load, atol=1e-9)
    assert whole.norms[0] == pytest.approx(np.linalg.norm(load))
    assert np.allclose(whole.columns()["share"], load / np.sqrt((found.measured**2).mean(axis=0)))


def test_rows_have_the_times_of_their_middle():
    robot = named("puma560")
    run = sampled(robot)
    slow = np.sin(2.0 * np.pi * 0.2 * run.period * np.arange(len(run.q)))[:, None] * np.ones(6)
    found = residual(robot, run._replace(effort=slow))
    assert np.abs(found.measured - np.sin(2.0 * np.pi * 0.2 * found.t)[:, None]).max() < 0.01


def test_noise_of_torques_is_filtered_and_masses_show():
    robot, log, links = logged("puma560", points=True)
    run = motion_of(log)
    whole = rms(residual(robot, run).error)
    true = rne.regressor(robot, run.q, run.qd, run.qdd) @ links
    apart = true - rne.inverse_dynamics(robot, run.q, run.qd, run.qdd)
    assert np.all(whole[:3] > 0.5 * np.sqrt((apart**2).mean(axis=0))[:3])


def test_too_short_a_motion_is_refused():
    t = 0.01 * np.arange(120.0)
    q = 0.1 * np.sin(t)[:, None] * np.ones(6)
    run = motion_of(Recording("short.csv", tuple("abcdef"), t, q, effort=q), band=1.0)
    with pytest.raises(RecordingError, match=r"short.csv lasts 1.2 s, too short for a motion of 1 Hz"):
        residual(named("puma560"), run)


def test_parts_between_gaps_are_filtered_each_by_itself():
    """As logs of their own would be; a short part is left out."""
    _, log, _ = logged("puma560")
    kept = (log.t < 6.0) | ((log.t > 6.5) & (log.t < 14.0)) | (log.t > 14.5)
    whole = replace(log, t=log.t[kept], q=log.q[kept], qd=None, effort=log.effort[kept])
    found = motions_of(whole)
    alone = [motion_of(log.between(*span), found[0].band) for span in ((6.501, 13.999), (0.0, 5.999))]
    assert [len(run.q) for run in found] == [len(run.q) for run in alone]
    for part, expected in zip(found, alone, strict=True):
        assert np.allclose(part.qdd, expected.qdd, atol=1e-9)
