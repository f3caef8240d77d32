"""Monte-Carlo rollouts against the same ones run one by one, with models built anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.arms import chain

from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.laws.pd_gravity import PdGravity
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import ArgumentError, ModelError, SimulationError
from rne_dynamics.model.assembly import assemble, with_payload
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import Limits, Payload
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.many import Outcome
from rne_dynamics.simulation.rollouts.rollout import Rollout

S, SECONDS = 4, 0.12


def law_of(robot, kind=ComputedTorque, bandwidth=30.0):
    gains = Gains.critically_damped(robot.n, bandwidth)
    return kind(robot, replace(gains, i=np.full(robot.n, 0.2 * bandwidth**3), i_clamp=np.full(robot.n, 20.0)),
                FrictionCompensation())  # fmt: skip


def path_of(robot):
    middle = 0.5 * (np.maximum(robot.lower, -2.0) + np.minimum(robot.upper, 2.0))
    return Quintic(middle, middle + 0.1, SECONDS)


def rollout_of(plant, model, kind=ComputedTorque, bandwidth=30.0):
    return Rollout(plant, law_of(model, kind, bandwidth), path_of(model), control_dt=2e-3)


def assert_same(many, s, log):
    assert many.outcome[s] == Outcome.DONE
    assert many.messages[s] == ""
    for name, there in (
        ("q", log.q[-1]), ("qd", log.qd[-1]), ("rms_error", log.rms_error), ("largest_error", log.largest_error),
        ("final_error", log.error[-1]), ("largest_effort", log.largest_effort),
    ):  # fmt: skip
        np.testing.assert_allclose(getattr(many, name)[s], there, rtol=1e-9, atol=1e-11, err_msg=name)


@pytest.fixture(scope="module")
def panda():
    return load_urdf("panda")


def test_payloads_starts_gravity_and_limits_as_models_built_one_by_one(panda):
    rng = np.random.default_rng(3)
    link = panda.link_names[-1]
    mass, com = rng.uniform(0.0, 2.0, S), rng.uniform(-0.1, 0.1, (S, 3))
    spread = rng.uniform(-0.1, 0.1, (S, 3, 3))
    inertia = spread @ spread.transpose(0, 2, 1)
    gravity = np.array([0.0, 0.0, -9.81]) + rng.uniform(-1.0, 1.0, (S, 3))
    limit = rng.uniform(5.0, 40.0, (S, panda.n))
    start = path_of(panda).start + rng.uniform(-0.05, 0.05, (S, panda.n))
    rollout = rollout_of(ArmPlant(panda), panda)
    samples = rollout.samples(S).with_payload(link, mass, com, inertia).with_gravity(gravity)
    many = rollout.run_many(samples.with_effort_limit(limit).with_start(start), keep_every=10)
    assert many.cut.max() > 0.0
    for s in range(S):
        loaded = with_payload(panda, Payload(link, mass[s], com[s], inertia[s]))
        loaded = replace(assemble(loaded.tree, gravity=gravity[s]), effort_limit=limit[s])
        log = rollout_of(ArmPlant(loaded), panda).run(start[s])
        assert_same(many, s, log)
        np.testing.assert_allclose(many.kept_q[s], log.q[::10], rtol=1e-9)
        np.testing.assert_allclose(many.kept_effort[s], log.effort[::10], rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(many.time, log.time[::10])


@pytest.mark.parametrize("kind", [ComputedTorque, PdGravity])
def test_masses_rotors_friction_and_gains_as_models_built_one_by_one(kind):
    robot = load_urdf("puma560")
    rng = np.random.default_rng(4)
    masses = {"link2": rng.uniform(0.7, 1.3, S), "link4": rng.uniform(0.7, 1.3, S)}
    rotors, friction = rng.uniform(0.5, 1.5, S), rng.uniform(0.5, 1.5, S)
    gains = np.array([Gains.critically_damped(robot.n, w).p for w in (20.0, 25.0, 30.0, 35.0)])
    rollout = rollout_of(ArmPlant(robot), robot, kind)
    samples = rollout.samples(S).with_mass_scaled(masses).with_rotors_scaled(rotors)
    samples = samples.with_friction_scaled(friction)
    many = rollout.run_many(samples.with_gains(p=gains, d=2.0 * np.sqrt(gains)))

    def other(scale, rotor, rub):
        links = tuple(
            x if x.name not in scale else replace(x, inertia=Inertia(
                x.inertia.mass * scale[x.name], x.inertia.com, x.inertia.inertia * scale[x.name]))
            for x in robot.tree.links
        )  # fmt: skip
        joints = tuple(
            replace(x, rotor_inertia=x.rotor_inertia * rotor, friction=replace(
                x.friction, viscous=x.friction.viscous * rub, coulomb_forward=x.friction.coulomb_forward * rub,
                coulomb_backward=x.friction.coulomb_backward * rub)) for x in robot.tree.joints
        )  # fmt: skip
        return assemble(replace(robot.tree, links=links, joints=joints))

    for s, bandwidth in enumerate((20.0, 25.0, 30.0, 35.0)):
        scale = {name: factor[s] for name, factor in masses.items()}
        arm, law = other(scale, rotors[s], friction[s]), law_of(robot, kind)
        law = replace(law, gains=replace(law.gains, p=np.full(6, bandwidth**2), d=np.full(6, 2.0 * bandwidth)))
        assert_same(many, s, Rollout(ArmPlant(arm), law, path_of(robot), control_dt=2e-3).run())


def test_invalid_samples_are_reported_one_by_one_and_do_not_affect_the_others():
    robot, reported = chain(3, limits=Limits(-1.0, 1.0)), list[int]()
    rollout = Rollout(ArmPlant(robot), law_of(robot), Quintic(np.zeros(3), np.full(3, 0.2), 0.1))
    good = rollout.run_many(rollout.samples(1))
    S = 9
    start, mass = np.zeros((S, 3)), np.ones((S, len(robot.link_names)))
    gains, rub, limit = np.full((S, 3), 900.0), np.ones(S), np.full((S, 3), np.inf)
    start[1, 0] = np.nan
    start[2, 1] = 100.0
    mass[3] = 0.0  # of bodies without rotors
    mass[4] = -1.0
    gains[5] = np.inf
    rub[6] = np.nan
    limit[7, 2] = -1.0
    gains[8] = 1e300
    samples = rollout.samples(S).with_start(start).with_mass_scaled(mass)
    samples = samples.with_gains(p=gains).with_friction_scaled(rub).with_effort_limit(limit)
    many = rollout.run_many(samples, keep_every=5, progress=reported.append)
    assert reported[-1] == S
    assert [Outcome(x).name for x in many.outcome[[0, 1, 2, 4, 5, 6, 7]]] == ["DONE"] + ["REFUSED"] * 6
    assert many.outcome[3] == Outcome.NOT_DETERMINED
    assert many.outcome[8] in (Outcome.BAD_EFFORT, Outcome.NOT_FINITE)
    messages = {1: "q is not finite", 2: "joint2", 3: "inertia", 4: "mass", 5: "gain", 6: "friction", 7: "effort limit"}
    for s, words in messages.items():
        assert words in many.messages[s]
        assert np.isnan(many.rms_error[s]).all()
        assert np.isnan(many.kept_q[s, -1]).all()
    np.testing.assert_array_equal(many.q[0], good.q[0])
    np.testing.assert_array_equal(many.done, many.outcome == 0)


def test_wrong_shapes_names_and_laws_are_refused(panda):
    class Own(ComputedTorque):
        pass

    rollout = rollout_of(ArmPlant(panda), panda)
    samples = rollout.samples(S)
    for call, words in (
        (lambda: samples.with_start(np.zeros((S + 1, panda.n))), "q has shape"),
        (lambda: samples.with_gravity(np.zeros((S, 2))), "gravity has shape"),
        (lambda: samples.with_mass_scaled("heavy"), "not an array of numbers"),
        (lambda: rollout.run_many(samples, threads=0), "threads is 0"),
        (lambda: rollout.run_many(samples, keep_every=-1), "keep_every is -1"),
        (lambda: rollout.samples(0), "number of samples is 0"),
        (lambda: Rollout(ArmPlant(chain(2)), law_of(chain(2)), path_of(chain(2))).run_many(samples), "another rollout"),
    ):
        with pytest.raises(ArgumentError, match=words):
            call()
    with pytest.raises(ModelError, match="no link"):
        samples.with_payload("hook", 1.0)
    with pytest.raises(SimulationError, match="compiled loop"):
        rollout_of(ArmPlant(panda), panda, Own).samples(2)


def test_files_hold_every_figure(panda, tmp_path):
    rollout = rollout_of(ArmPlant(panda), panda)
    many = rollout.run_many(rollout.samples(2).with_start(np.stack([path_of(panda).start, np.full(7, np.nan)])))
    many.save_npz(tmp_path / "many.npz")
    many.save_csv(tmp_path / "many.csv")
    with np.load(tmp_path / "many.npz") as there:
        np.testing.assert_array_equal(there["rms_error"], many.rms_error)
    lines = (tmp_path / "many.csv").read_text().splitlines()
    assert lines[1].startswith("0,done,,0.12,")
    assert lines[2].startswith("1,refused,q is not finite,")
