"""Arms that differ from their model: parameters, messages, drives, sensors, scripts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from support.arms import chain

import rne_dynamics as rne
from rne_dynamics.errors import ArgumentError, ModelError, SimulationError
from rne_dynamics.model.friction import joint_friction

ARM = chain(3)
MOVE = rne.Quintic(np.zeros(3), np.array([0.3, -0.2, 0.4]), 0.2)
LAW = rne.ComputedTorque(ARM, rne.Gains.critically_damped(3, 40.0))


@dataclass
class Noting:
    """A law that keeps what it receives."""

    robot: Any = ARM
    seen: list[Any] = field(default_factory=list)

    def law(self, q: Any, qd: Any, reference: Any, integral: Any = None) -> Any:
        self.seen.append((q, qd))
        return LAW.law(q, qd, reference, integral)


def run(mismatch: rne.Mismatch | None, law: Any = LAW, **options: Any) -> rne.Log:
    return rne.Rollout(rne.ArmPlant(ARM), law, MOVE, mismatch=mismatch, **options).run()


def test_without_differences_the_arm_moves_as_without_a_mismatch() -> None:
    given, without = run(rne.Mismatch()), run(None)
    np.testing.assert_allclose(given.q, without.q, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(given.effort, without.effort, rtol=0.0, atol=1e-9)


def test_parameters_are_those_asked_for() -> None:
    arm = rne.load_urdf("puma560")
    scaled = rne.Mismatch(mass_scale=1.3, friction_scale=0.5, rotor_scale=2.0).robot(arm)
    q, qdd = np.full(6, 0.3), np.full(6, 0.7)
    links, links_scaled = (robot.open_tree.tree.without_rotors() for robot in (arm, scaled))
    before, after = (rne.assemble(tree, base="fixed", gravity=arm.gravity) for tree in (links, links_scaled))
    np.testing.assert_allclose(rne.mass_matrix(after, q) @ qdd, 1.3 * rne.mass_matrix(before, q) @ qdd, rtol=1e-12)
    np.testing.assert_allclose(joint_friction(scaled).rows[:3], 0.5 * joint_friction(arm).rows[:3])
    np.testing.assert_allclose(rne.rotor_inertia(scaled), 2.0 * rne.rotor_inertia(arm))
    np.testing.assert_array_equal(scaled.effort_limit, arm.effort_limit)
    loaded, known = rne.Mismatch(payload=("link6", 2.0)).robot(arm), arm.with_payload(rne.Payload("link6", 2.0))
    np.testing.assert_allclose(rne.gravity_torque(loaded, q), rne.gravity_torque(known, q), rtol=1e-12)


def test_a_seed_gives_one_arm_and_kinds_do_not_change_each_other() -> None:
    arm = rne.load_urdf("puma560")
    drawn = rne.Mismatch(seed=3, mass=0.1).robot(arm)
    again, also, other = (rne.Mismatch(seed=seed, mass=0.1, centre=centre, friction=0.2).robot(arm)
                          for seed, centre in ((3, 0.0), (3, 0.01), (4, 0.0)))  # fmt: skip
    assert drawn.mass == again.mass == also.mass != other.mass
    assert 0.9 * arm.mass < drawn.mass < 1.1 * arm.mass
    assert (rne.center_of_mass(again, np.zeros(6)) != rne.center_of_mass(also, np.zeros(6))).any()


def test_delayed_efforts_act_later() -> None:
    log = run(rne.Mismatch(delay=0.003), dt=0.5e-3, control_dt=1e-3)
    sent = sum(log.terms.values())
    np.testing.assert_allclose(log.effort[3:], sent[:-3], atol=1e-12)
    np.testing.assert_allclose(log.effort[:3], [rne.gravity_torque(ARM, np.zeros(3))] * 3, atol=1e-12)
    with pytest.raises(SimulationError, match=r"delay is 0\.0015 s; it must be a whole number of steps"):
        run(rne.Mismatch(delay=0.0015))
    assert run(rne.Mismatch(delay=0.01)).time[-1] == 0.2


def test_lost_and_late_efforts_hold_the_last_one() -> None:
    log = run(rne.Mismatch(lost=0.3), dt=0.5e-3)
    kept = (np.diff(log.effort, axis=0) == 0.0).all(axis=1).mean()
    assert 0.2 < kept < 0.4
    late = run(rne.Mismatch(jitter=0.004))
    sent, ages = sum(late.terms.values()), []
    for k in range(5, len(late.time)):
        ages.append(k - np.flatnonzero((np.abs(sent[: k + 1] - late.effort[k]) < 1e-12).all(axis=1))[-1])
    assert set(ages) <= set(range(5)), "no effort is older than the longest delay"
    assert len(set(ages)) > 2
    assert (np.diff(ages) <= 1).all(), "an effort older than the present one never acts"


def test_sensors() -> None:
    law = Noting()
    quantum = 2.0**-12
    log = run(rne.Mismatch(quantum=quantum), law)
    q, qd = (np.array(part) for part in zip(*law.seen, strict=True))
    np.testing.assert_array_equal(q / quantum, np.round(q / quantum))
    assert np.abs(q - log.q).max() <= 0.5 * quantum
    np.testing.assert_allclose(qd[1:], np.diff(q, axis=0) / 1e-3, atol=1e-9)
    law = Noting()
    log = run(rne.Mismatch(bias=0.01), law)
    off = np.array([q for q, _ in law.seen]) - log.q
    np.testing.assert_allclose(off, off[:1].repeat(len(off), axis=0), atol=1e-12)
    assert 0.0 < np.abs(off).max() <= 0.01
    law = Noting()
    log = run(rne.Mismatch(noise=1e-4, velocity_noise=1e-3), law)
    q, qd = (np.array(part) for part in zip(*law.seen, strict=True))
    assert np.std(q - log.q) == pytest.approx(1e-4, rel=0.1)
    assert np.std(qd - log.qd) == pytest.approx(1e-3, rel=0.1)


def test_drives() -> None:
    log = run(rne.Mismatch(dead_zone=0.5, ripple=0.1))
    sent = sum(log.terms.values())
    awake = np.sign(sent) * np.maximum(np.abs(sent) - 0.5, 0.0)
    np.testing.assert_allclose(log.effort, awake * (1.0 + 0.1 * np.sin(24.0 * log.q)), atol=1e-12)


def test_a_script_changes_the_arm_and_is_recorded() -> None:
    script = [{"at": 0.1, "mass_scale": 2.0, "delay": 0.002}, {"at": 0.15, "delay": 0.0}]
    mismatch = rne.Mismatch.of({"seed": 1, "script": script})
    log, plain = run(mismatch), run(rne.Mismatch())
    np.testing.assert_array_equal(log.q[:101], plain.q[:101])
    sent = sum(log.terms.values())
    np.testing.assert_allclose(log.effort[105:150], sent[103:148])
    np.testing.assert_allclose(log.effort[155:], sent[155:])
    assert log.largest_error.max() > 10.0 * plain.largest_error.max()
    assert mismatch.as_plain() == {"seed": 1, "script": script}
    assert rne.Mismatch.of(mismatch.as_plain()) == mismatch


@pytest.mark.parametrize(("values", "said"), [
    ({"mass": 1.5}, "mass is 1.5, a part; it must be below 1"),
    ({"noise": -1.0}, "noise is -1.0; it must be a finite number, not negative"),
    ({"delay": "5 ms"}, "delay is '5 ms'"),
    ({"stiffness": 0.0}, "stiffness is 0.0; it must be a number above 0"),
    ({"backlash": 0.1}, "backlash is 0.1 without a spring"),
    ({"seed": -1}, "seed is -1"),
    ({"encoder": "arm"}, "encoder is 'arm'; it must be 'motor' or 'link'"),
    ({"payload": ("hand", -1.0)}, "payload is"),
    ({"masses": 0.1}, "no field named 'masses'; did you mean 'mass'"),
    ({"script": [{"at": 1.0, "lost": 2.0}]}, "lost is 2, a part"),
    ({"script": [{"lost": 0.1}]}, "write {at: SECONDS"),
    ({"script": [{"at": 1.0, "mass": 0.1}, {"at": 0.5}]}, "times must be finite and in order"),
    ({"script": [{"at": 1.0, "stiffness": 10.0}]}, "no field that changes named 'stiffness'"),
])  # fmt: skip
def test_what_is_not_allowed_is_said(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        rne.Mismatch.of(values)


def test_arms_that_it_cannot_be_for() -> None:
    with pytest.raises(ArgumentError, match="flexible links"):
        rne.Mismatch(mass=0.1).robot(rne.load_model("flexible_arm"))
    with pytest.raises(ModelError, match="no link named 'hand'"):
        rne.Mismatch(payload=("hand", 1.0)).robot(ARM)
    assert rne.Mismatch(mass=0.1).robot(rne.load_model("pantograph")).kind == "mechanism"
