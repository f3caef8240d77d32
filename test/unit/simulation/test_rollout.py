from __future__ import annotations

import numpy as np
import pytest
from support.arms import chain, floating_arm, slider

from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.tree import Limits
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.rollout import simulate
from rne_dynamics.simulation.runs.free_motion import free_motion


def move(robot, duration=1.0, **options):
    law = ComputedTorque(robot, Gains.critically_damped(robot.n, 40.0), FrictionCompensation())
    middle = 0.5 * (np.maximum(robot.lower, -2.0) + np.minimum(robot.upper, 2.0))
    reach = 0.1 * (np.minimum(robot.upper, 2.0) - np.maximum(robot.lower, -2.0))
    return simulate(ArmPlant(robot), law, Quintic(middle - reach, middle + reach, duration), **options)


@pytest.mark.parametrize("name", ["puma560", "scara", "shuttle_arm"])
def test_shipped_arms_track_a_quintic_on_a_matched_model(name):
    """At 1 kHz, friction, sticking and effort limits included: below 2e-4 rad or m RMS on every joint."""
    # the Shuttle's arm is slow and cannot hold itself up on the ground
    in_orbit = name == "shuttle_arm"
    robot = load_urdf(name, gravity=(0.0, 0.0, 0.0)) if in_orbit else load_urdf(name)
    log = move(robot, 15.0 if in_orbit else 1.0)
    assert log.rms_error.max() < 2e-4
    assert (log.largest_effort < robot.effort_limit).all()


def test_the_log_holds_every_row():
    robot = chain(3, limits=Limits(effort=60.0))
    log = move(robot, seconds=1.5, control_dt=2e-3)
    assert log.time.shape == (751,)
    assert log.time[-1] == pytest.approx(1.5)
    np.testing.assert_allclose(sum(log.terms.values()), log.effort, atol=1e-12)
    assert list(log.terms) == ["inertia", "coriolis", "gravity", "friction", "feedback"]
    np.testing.assert_array_equal(log.error, log.reference_q - log.q)
    np.testing.assert_array_equal(log.energy, log.kinetic + log.potential)
    assert log.reference_qdd[-1] == pytest.approx(np.zeros(3))


def test_free_motion_of_a_floating_robot_has_all_its_columns():
    log = free_motion(ArmPlant(floating_arm()), floating_arm().neutral, np.ones(8), seconds=0.05)
    assert {"q/0", "q/8", "qd/second", "kinetic_energy"} <= set(log.columns())
    assert not np.any(log.error)
    assert log.reference_q is None


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: move(chain(1), control_dt=1.5e-3), "0.0015 s is not a whole multiple of the step of 0.001"),
        (lambda: move(chain(1), control_dt=0.0), "the control or record period is 0.0 s"),
        (lambda: move(chain(1), dt=-1.0), "dt is -1.0 s"),
        (lambda: move(chain(1), seconds=np.nan), "the time to simulate is nan s"),
        (lambda: move(chain(1), q=[np.nan]), "q of joint 'joint1' is nan"),
        (lambda: move(chain(1, limits=Limits(-1.0, 1.0)), q=[2.0]), "joint 'joint1' starts at 2, outside"),
        (lambda: free_motion(ArmPlant(slider()), [0.0], seconds=-1.0), "the time to simulate is -1.0 s"),
        (lambda: free_motion(ArmPlant(slider()), [0.0], seconds=1.0, effort=[np.inf]), "joint 'rail' is inf"),
    ],
)
def test_unusable_requests_are_refused(call, said):
    with pytest.raises(SimulationError, match=said):
        call()
