"""Scripts of what happens: pushes, loads, changes; in rollouts and in the class `Simulator`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.arms import chain

import rne_dynamics as rne
from rne_dynamics.errors import ArgumentError, ModelError, SimulationError

ARM = chain(3, rotor=0.2)
MOVE = rne.Quintic(np.zeros(3), np.array([0.3, -0.2, 0.4]), 0.3)
LAW = rne.ComputedTorque(ARM, rne.Gains.critically_damped(3, 30.0))
FORCE = np.array([5.0, -20.0, 10.0])


def push(link: str, force: Any, duration: float) -> dict[str, Any]:
    return {"link": link, "force": force, "duration": duration}


def run(script: Any, **fields: Any) -> rne.Log:
    return rne.Rollout(rne.ArmPlant(ARM), LAW, MOVE, mismatch=rne.Mismatch(script=script, **fields)).run()


def by_hand(log: rne.Log, acting: Any) -> np.ndarray:
    """Positions under a log's efforts and under wrenches over time."""
    arm = rne.Simulator(rne.ArmPlant(ARM), log.q[0], log.qd[0])
    for t, effort in zip(log.time[:-1], log.effort[:-1], strict=True):
        arm.command(effort)
        arm.advance(1, acting(t))
    return arm.state.q


def test_pushes_act_for_their_time_and_add_up() -> None:
    log = run([{"at": 0.05, "push": push("link3", FORCE, 0.1)}, {"at": 0.1, "push": push("link3", [0, 9, 0], 0.1)}])

    def acting(t: float) -> Any:
        force = FORCE * (0.0499 < t < 0.1499) + np.array([0.0, 9.0, 0.0]) * (0.0999 < t < 0.1999)
        return {"link3": np.concatenate([force, np.zeros(3)])}

    np.testing.assert_allclose(log.q[-1], by_hand(log, acting), atol=1e-9)
    assert np.abs(log.q - run([]).q).max() > 1e-3
    always = run([{"at": 0.1, "push": push("link1", [1, 0, 0], 0.1)}], push={"link3": FORCE})
    np.testing.assert_allclose(always.q[-1], by_hand(always, lambda t: {
        "link3": [*FORCE, 0, 0, 0], "link1": [float(0.0999 < t < 0.1999), 0, 0, 0, 0, 0]}), atol=1e-9)  # fmt: skip


def test_a_load_is_taken_and_dropped() -> None:
    load = {"link": "link3", "mass": 2.0, "com": [0.1, 0.0, 0.2]}
    log = run([{"at": 0.0, "payload": load}, {"at": 0.2, "payload": None}])
    loaded = rne.ArmPlant(ARM.with_payload(rne.Payload("link3", 2.0, (0.1, 0.0, 0.2))))
    np.testing.assert_allclose(log.q[:200], rne.simulate(loaded, LAW, MOVE).q[:200], atol=1e-9)
    weight = rne.gravity_torque(ARM, log.q[-1])
    assert np.abs(log.effort[-1] - weight).max() < np.abs(log.effort[190] - weight).max()


def test_the_simulator_has_the_same_mismatch_as_rollouts() -> None:
    worn = rne.Mismatch(
        seed=2, mass=0.1, delay=0.003, lost=0.2, noise=1e-4, bias=0.01, quantum=1e-4, stiffness=900.0,
        script=[{"at": 0.1, "push": push("link3", FORCE, 0.1)}, {"at": 0.15, "payload": {"link3": 1.0}}],
    )  # fmt: skip
    log = rne.Rollout(rne.ArmPlant(ARM), LAW, MOVE, mismatch=worn).run()
    arm = rne.Simulator(rne.ArmPlant(ARM), np.zeros(3), mismatch=worn)
    arm.warm_up()
    arm.advance(3)
    assert arm.braked
    assert arm.state.q.tolist() == [0.0, 0.0, 0.0]
    for _ in range(2):  # as before after a reset
        rows = []
        for t in log.time[:-1]:
            q, qd = arm.measured()
            rows.append(arm.state.q)
            arm.command(LAW.law(q, qd, MOVE.sample(t)).total)
            arm.advance()
        np.testing.assert_allclose(rows, log.q[:-1], atol=1e-6)
        assert np.abs(arm.measured()[0] - arm.state.q).max() > 1e-3
        arm.reset()


def test_brakes_and_time_outs_hold_an_arm_with_a_mismatch() -> None:
    elastic = rne.Mismatch(stiffness=900.0)
    arm = rne.Simulator(rne.ArmPlant(ARM), np.zeros(3), command_timeout=0.02, on_timeout="brake", mismatch=elastic)
    arm.command(np.zeros(3))
    arm.advance(60)
    held = arm.state
    assert not held.qd.any()
    assert arm.advance(5).q.tolist() == held.q.tolist()
    assert arm.place([0.1, 0.2, 0.3]).q.tolist() == [0.1, 0.2, 0.3]
    assert not arm.applied_effort.any()


@pytest.mark.slow
def test_elastic_joints_press_on_a_wall() -> None:
    """At rest the spring of the joint and that of the wall are in series."""
    wall = rne.SpringyBody("plane", (0.0, 0.31, 0.0), (0.0, -1.0, 0.0), stiffness=2e4)
    point = rne.TouchingPoint("link3", (0.1, 0.3, 0.05))
    plant = rne.ArmPlant(ARM, surroundings=rne.Surroundings((wall,), (point,)))
    end = np.array([0.05, 0.0, 0.0])
    move = rne.Quintic(np.zeros(3), end, 0.3)
    log = rne.Rollout(plant, LAW, move, seconds=1.5, mismatch=rne.Mismatch(stiffness=900.0)).run()
    force = log.contact[-1, 0]
    assert force[1] < -5.0
    pose, J = rne.forward_kinematics(ARM, log.q[-1])["link3"], rne.jacobian(ARM, log.q[-1], "link3")
    lever = pose[:3, :3] @ point.point
    felt = J[:3].T @ force + J[3:].T @ np.cross(lever, force)
    np.testing.assert_allclose(log.effort[-1] + felt, rne.gravity_torque(ARM, log.q[-1]), atol=0.02)


def test_scenes_are_read_from_files(tmp_path: Path) -> None:
    file = tmp_path / "scene.yaml"
    file.write_text("bodies:\n- {kind: plane, stiffness: 2e4}\ntouching:\n- {link: link3, radius: 0.1}\nscript:\n"
                    "- {at: 0.2, push: {link: link3, force: [1, 0, 0], duration: 0.05}}\n")  # fmt: skip
    scene = rne.read_scene(file)
    assert scene.surroundings == rne.Surroundings((rne.SpringyBody("plane", stiffness=2e4),),
                                                  (rne.TouchingPoint("link3", radius=0.1),))  # fmt: skip
    merged = scene.mismatch(rne.Mismatch(mass=0.1, script=[{"at": 0.3, "lost": 0.5}]))
    assert merged is not None
    assert [at for at, _ in merged.script] == [0.2, 0.3]
    assert [round(at, 9) for at, _ in merged.phases] == [0.0, 0.2, 0.25, 0.3]
    assert rne.Scene().mismatch(None) is None
    for text, said in (
        ("bodys: []\n", "scene.yaml: a scene has no key named 'bodys'; did you mean 'bodies'"),
        ("- 3\n", "scene.yaml holds no mapping"),
        ("touching: []\n", "touching is given without bodies"),
        ("bodies:\n- {kind: plane, stiffnes: 3}\n", "did you mean 'stiffness'"),
        ("script:\n- {at: 1, push: {link: a, force: [0, 0, 1]}}\n", "script has the push"),
        ("script:\n- {at: 1, push: {link: [a], force: [0, 0, 1], duration: 1}}\n", "script has the push"),
        ("script:\n- {at: 1, push: {link: a, force: [0, 0], duration: 1}}\n", "the force [0, 0]; it must be three"),
        ("script:\n- {at: 1, push: {link: a, force: [0, 0, 1], duration: -1}}\n", "duration of a push is -1"),
        ("script:\n- {at: 1, payload: {link: a, mass: 1, com: [0, x, 0]}}\n",
         "com of the payload is [0, 'x', 0]; it must be three"),
    ):
        file.write_text(text)
        with pytest.raises(ArgumentError, match=said.replace("[", r"\[")):
            rne.read_scene(file)
    with pytest.raises(ArgumentError, match="cannot be read"):
        rne.read_scene(tmp_path / "none.yaml")


def test_unknown_links_and_delays_are_refused_before_the_start() -> None:
    for script, error, said in (
        ([{"at": 0.2, "push": push("hand", [1, 0, 0], 0.1)}], ModelError, "no link named 'hand'"),
        ([{"at": 0.2, "payload": {"hand": 1.0}}], ModelError, "no link named 'hand'"),
        ([{"at": 0.2, "delay": 0.0015}], SimulationError, "whole number of steps"),
    ):
        with pytest.raises(error, match=said):
            rne.Simulator(rne.ArmPlant(ARM), np.zeros(3), mismatch=rne.Mismatch(script=script))
    with pytest.raises(ArgumentError, match="push is 3; write"):
        rne.Mismatch(push=3)  # type: ignore[arg-type]
