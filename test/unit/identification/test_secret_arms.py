"""Identification of arms that are not what their file says: prediction, uncertainty, payload, drive gains, time."""

from __future__ import annotations

import time

import numpy as np
import pytest
from support.robots import robot as named
from support.secret_arms import secret

from rne_dynamics.identification import triangles
from rne_dynamics.identification.identify import estimated_gains, identify
from rne_dynamics.identification.models import identified_robot
from rne_dynamics.identification.motion import joined, motion_of, residual
from rne_dynamics.identification.triangles import Friction, Layout, structure, triangles_of


def norm(robot, *motions) -> float:
    return joined([residual(robot, motion) for motion in motions]).norms[0]


@pytest.mark.parametrize(("name", "rotors"), [pytest.param("puma560", False, marks=pytest.mark.slow), ("scara", True)])
def test_other_motions_are_predicted(name, rotors):
    arm = secret(named(name), 3)
    arm = arm if rotors else arm._replace(rotors=np.zeros(arm.robot.n))
    found = identify(triangles_of(Layout(arm.robot, rotors=rotors), motion_of(arm.recording(1))))
    other = arm.motion(2, noise=0.0)
    before, after = norm(arm.robot, other), norm(identified_robot(found), other)
    assert after < 0.05 * before


@pytest.mark.slow
def test_rotors_cost_nothing_where_there_are_none():
    arm = secret(named("puma560"), 4)._replace(rotors=np.zeros(6))
    motion, other = motion_of(arm.recording(1)), arm.motion(2, noise=0.0)
    with_them, without = (
        norm(identified_robot(identify(triangles_of(Layout(arm.robot, rotors=rotors), motion))), other)
        for rotors in (True, False)
    )
    assert with_them < 2.0 * without + 0.01


def covered(name: str, seeds: range, spread: float) -> float:
    """Part of the 95 % intervals of base parameters, and of those of joints, that contain the truth."""
    robot = named(name)
    layout, base = Layout(robot, rotors=True), structure(robot)
    inside = []
    for seed in seeds:
        arm = secret(robot, seed, spread)
        found = identify(triangles_of(layout, arm.motion(seed)))
        true, links = np.zeros(len(found.parameters)), layout.links
        true[:links] = arm.parameters
        viscous, coulomb, offset = arm.friction.T
        true[links:] = np.stack((arm.rotors, offset, viscous, coulomb, 0.0 * viscous), axis=1).ravel()
        own = np.flatnonzero(layout.used(found.forms))[links:]
        B, error = base.combinations[:, :links], found.parameters - true
        deviations = np.sqrt(np.diag(B @ found.covariance[:links, :links] @ B.T))
        inside += [np.abs(B @ error[:links]) < 1.96 * deviations]
        inside += [np.abs(error[own]) < 1.96 * found.deviations[own]]
    return float(np.concatenate(inside).mean())


@pytest.mark.slow
def test_intervals_contain_the_truth():
    assert 0.9 < covered("puma560", range(3), 0.3) < 0.995


@pytest.mark.soak
@pytest.mark.parametrize(("name", "spread"), [
    ("puma560", 0.0), ("puma560", 0.3), ("puma560", 0.5), ("panda", 0.3),
])  # fmt: skip
def test_intervals_contain_the_truth_in_95_percent(name, spread):
    assert 0.93 <= covered(name, range(200), spread) <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("reference", [True, False])
def test_a_payload_is_found(reference):
    """Without a log of the arm alone, its model must be good."""
    robot = named("panda")
    arm = secret(robot, 1)
    loaded = arm.with_load("panda_link8", 2.8, (0.02, 0.0, 0.08)).motion(1)._replace(loaded=True)
    if reference:
        found = identify(
            triangles_of(Layout(robot, rotors=True, payload="panda_link8"), loaded)
            + triangles_of(Layout(robot, rotors=True, payload="panda_link8"), arm.motion(2))
        )
    else:
        better = identified_robot(identify(triangles_of(Layout(robot, rotors=True), arm.motion(2))))
        found = identify(triangles_of(Layout(better, rotors=True, payload="panda_link8"), loaded), trust=0.05)
    mass, *first = found.parameters[found.layout.links - 10 : found.layout.links - 6]
    frame = robot.links["panda_link8"]
    com = frame.rotation.T @ (np.array(first) / mass - frame.position)
    assert mass == pytest.approx(2.8, rel=0.02)
    assert com == pytest.approx([0.02, 0.0, 0.08], abs=0.005)


def test_drive_gains_follow_from_a_known_load():
    robot = named("ur5_robot.urdf")
    arm, gains = secret(robot, 2), np.array([13.0, 12.0, 9.0, 5.0, 6.0, 4.0])
    loaded = arm.with_load("tool0", 2.8, (0.0, 0.02, 0.05)).motion(1)
    layout = Layout(robot, rotors=True, payload="tool0")
    triangles = triangles_of(layout, loaded._replace(loaded=True)) + triangles_of(layout, arm.motion(2))
    found = estimated_gains(triangles.with_gains(1.0 / gains), 2.8)
    assert found.values == pytest.approx(gains, rel=0.02)
    assert (np.abs(found.values / gains - 1.0) < 4.0 * found.deviations).all()


def test_friction_at_low_speed_is_chosen_where_it_is():
    arm = secret(named("scara"), 1)
    motion = arm.motion(1, noise=0.001)
    x = motion.qd[:, 0] / 0.05
    sign = np.clip(x, -1.0, 1.0) * (1.5 - 0.5 * np.clip(x, -1.0, 1.0) ** 2)
    motion.effort[:, 0] += 3.0 * arm.friction[0, 1] * sign * np.exp(-((x / 3.0) ** 2))
    found = identify(triangles_of(Layout(arm.robot, rotors=True), motion))
    assert found.forms[0] == Friction(0.05, stribeck=True)
    assert not any(form.stribeck for form in found.forms[1:])


@pytest.mark.soak
def test_a_log_is_identified_in_little_time():
    arm = secret(named("panda"), 1)
    recording = arm.recording(1, 25.0)
    assert len(recording.t) == 5000
    times = []
    for _ in range(4):
        start = time.process_time()
        identify(triangles_of(Layout(arm.robot, rotors=True), motion_of(recording)))
        times.append(time.process_time() - start)
    assert min(times) < 0.6


def test_long_logs_are_filtered_part_by_part(monkeypatch):
    arm = secret(named("scara"), 1)
    layout, motion = Layout(arm.robot, rotors=True, payload=None), arm.motion(1)
    whole = triangles_of(layout, motion)
    monkeypatch.setattr(triangles, "_SAMPLES", 300)
    parts = triangles_of(layout, motion)
    assert len(parts.blocks) > len(whole.blocks)
    assert sum(parts.counts) == sum(whole.counts)
    for a, b in zip(whole.whole, parts.whole, strict=True):
        assert np.allclose(a.T @ a, b.T @ b, rtol=1e-12, atol=1e-12 * np.abs(a.T @ a).max())
