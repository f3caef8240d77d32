"""The compiled closed loop against the same loop stepped from Python, row for row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.arms import chain, gripper

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.laws.pd_gravity import PdGravity
from rne_dynamics.control.motion.path import Path
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.control.trajectory import Hold, Quintic, SampledTrajectory, references
from rne_dynamics.description.share import shipped_robots
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.errors import ControlError, SimulationError, SingularInertiaError
from rne_dynamics.model.tree import Friction, Limits
from rne_dynamics.simulation.plant.coordinates import checked_state
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.rollout import Rollout, simulate


def integral_law(robot, kind=ComputedTorque, bandwidth=40.0, compensation=True):
    gains = Gains.critically_damped(robot.n, bandwidth)
    gains = replace(gains, i=np.full(robot.n, 0.3 * bandwidth**3), i_clamp=np.full(robot.n, 30.0))
    if kind is PdGravity:  # torques: a loop that is not stable would blow up what separates the two by round-off
        felt = np.diag(mass_matrix(robot, path_of(robot).start))
        gains = replace(gains, p=felt * gains.p, i=felt * gains.i, d=felt * gains.d)
    return kind(robot, gains, FrictionCompensation() if compensation else None)


def path_of(robot, duration=0.2, reach=0.1):
    middle = 0.5 * (np.maximum(robot.lower, -2.0) + np.minimum(robot.upper, 2.0))
    return Quintic(middle, middle + reach, duration)


def assert_the_same(plant, law, path, q=None, *, dt=1e-3, control_dt=None, seconds=None, method=None, to=1e-9):
    rollout = Rollout(plant, law, path, dt, control_dt, seconds, method)
    assert rollout.compiled
    compiled = rollout.run(q)
    start = checked_state(plant.robot, path.sample(0.0).q if q is None else q, path.sample(0.0).qd)
    stepped = rollout._cycle_by_cycle(start, None)
    for name in ("time", "q", "qd", "effort", "reference_q", "reference_qd", "reference_qdd", "kinetic", "potential"):
        there = getattr(stepped, name)
        scale = max(np.abs(there).max(), 1.0)
        np.testing.assert_allclose(getattr(compiled, name), there, rtol=to, atol=to * scale, err_msg=name)
    assert list(compiled.terms) == list(stepped.terms)
    for name, there in stepped.terms.items():
        scale = max(np.abs(there).max(), 1.0)
        np.testing.assert_allclose(compiled.terms[name], there, rtol=to, atol=to * scale, err_msg=name)
    return compiled


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_robots())
def test_every_shipped_robot_moves_alike(name):
    robot = load_urdf(name)
    assert_the_same(ArmPlant(robot, limit_effort=False), integral_law(robot), path_of(robot))


@pytest.mark.parametrize(("kind", "method"), [(ComputedTorque, "semi_implicit"), (PdGravity, "rk4")])
def test_both_laws_and_both_methods_with_a_slower_controller(kind, method):
    robot = load_urdf("panda")
    law = integral_law(robot, kind, compensation=False)
    # joints under PD stick and break loose, which is located to 1e-10 of a step, and errors then grow for a while
    to = 1e-6 if kind is PdGravity else 1e-9
    assert_the_same(ArmPlant(robot), law, path_of(robot), dt=5e-4, control_dt=2e-3, method=method, to=to)


def test_limits_stops_sticking_and_stiff_friction_are_the_same_plant():
    limits = Limits(-0.3, 0.3, 3.0, 12.0)
    robot = chain(3, Friction(0.5, 0.4, 0.3), limits)
    law = integral_law(robot, bandwidth=25.0)
    log = assert_the_same(ArmPlant(robot), law, Quintic(np.zeros(3), np.full(3, 0.5), 0.3), seconds=0.4)
    assert np.abs(log.effort).max() == 12.0
    assert np.abs(sum(log.terms.values())).max() > 12.0
    assert log.q.max() == 0.3
    stiff = chain(2, Friction(500.0, 0.1, 0.1))
    assert_the_same(ArmPlant(stiff), integral_law(stiff), path_of(stiff), seconds=0.05)
    mimic = gripper()
    assert_the_same(ArmPlant(mimic), integral_law(mimic), Quintic(np.zeros(2), np.full(2, 0.2), 0.1))


def test_trajectories_of_every_kind_are_tabulated_as_they_are_sampled():
    rng = np.random.default_rng(1)
    times = np.array([0.1, 0.35, 0.5, 1.0])
    rows = [rng.uniform(-1.0, 1.0, (4, 3)) for _ in range(3)]
    sampled = SampledTrajectory(times, *rows)
    at = np.sort(np.concatenate([[-1.0, 0.0, 5.0], times, rng.uniform(0.0, 1.2, 30)]))
    for path in (
        sampled, SampledTrajectory(times, *rows[:2]), SampledTrajectory(times, rows[0]), sampled.path, Hold(rows[0][0]),
        SampledTrajectory(times[:1], rows[0][:1]), Quintic(rows[0][0], rows[0][1], 0.7),
    ):  # fmt: skip
        table = references(path, at, 3)
        for row, t in zip(table, at.tolist(), strict=True):
            np.testing.assert_allclose(row, np.array(path.sample(t)), rtol=1e-12, atol=1e-12)
    assert isinstance(sampled.path, Path)


def test_custom_trajectories_run_compiled_and_custom_laws_from_python():
    robot = chain(2)

    class Circle:
        duration = 0.1

        def sample(self, t):
            return Reference(np.array([0.1 * t, t]), np.array([0.1, 1.0]), np.zeros(2))

    assert_the_same(ArmPlant(robot), integral_law(robot), Circle())

    class Own(ComputedTorque):
        pass

    own = Rollout(ArmPlant(robot), integral_law(robot, Own), Circle())
    assert not own.compiled
    known = Rollout(ArmPlant(robot), integral_law(robot), Circle()).run()
    np.testing.assert_allclose(own.run().q, known.q, rtol=1e-12, atol=1e-12)


def test_a_run_that_fails_raises_the_error_of_its_step():
    robot = chain(2)
    wild = ComputedTorque(robot, Gains.critically_damped(2, 1e4))
    with pytest.raises(SimulationError, match=r"joint '.*'.* finite"):
        simulate(ArmPlant(robot), wild, Hold(np.full(2, 1.0)), q=np.zeros(2), seconds=5.0)
    nan = Rollout(ArmPlant(robot), integral_law(robot), Hold(np.full(2, 1e300)), seconds=0.01)
    with pytest.raises((SimulationError, SingularInertiaError)):
        nan.run(np.full(2, -1e300))
    with pytest.raises(SimulationError, match="outside its limits"):
        simulate(ArmPlant(chain(1, limits=Limits(-1.0, 1.0))), integral_law(chain(1)), Hold(np.full(1, 2.0)))
    with pytest.raises(ControlError, match="has 3 joints"):
        Rollout(ArmPlant(robot), integral_law(chain(3)), Hold(np.zeros(3)))
    with pytest.raises(ControlError, match=r"reference\.q has shape"):
        Rollout(ArmPlant(robot), integral_law(robot), Hold(np.zeros(3)))
