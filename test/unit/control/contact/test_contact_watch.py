"""Pushes of 20 N on arms of MuJoCo with other masses: felt in time, and nothing else is; tare and texts."""

from __future__ import annotations

import numpy as np
import pytest
from support.pushed import Outcome, watched

import rne_dynamics as rne
from rne_dynamics.control.contact_watch import ContactSettings, ContactWatch
from rne_dynamics.errors import ControlError
from rne_dynamics.model.tree import Payload

ARMS = ("panda", "ur10")
DRAWS = 20


def in_time(runs: list[Outcome]) -> float:
    """Part of the pushes that were felt within 20 ms."""
    return sum(delay <= 0.0201 for run in runs for delay in run.delays) / sum(run.pushes for run in runs)


@pytest.mark.parametrize("name", ARMS)
def test_pushes_are_felt_and_moving_is_not(name: str) -> None:
    runs = [watched(name, seed, 1.2, pushes=True) for seed in range(DRAWS // 6)]
    assert sum(run.pushes for run in runs) == DRAWS // 6
    assert in_time(runs) >= 0.95
    assert not sum(run.alarms for run in runs)


def test_friction_of_a_quarter_of_the_effort_is_no_contact() -> None:
    """A joint that sticks may have it in either direction: what is observed of that comes later than what is known."""
    assert not watched("puma560", 1, 3.0, pushes=False).alarms


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(DRAWS))
@pytest.mark.parametrize("name", [*ARMS, "puma560"])
def test_ten_minutes_without_a_false_alarm(name: str, seed: int) -> None:
    assert not watched(name, 1000 + seed, 600.0, pushes=False).alarms


@pytest.mark.soak
@pytest.mark.parametrize("name", ARMS)
def test_many_pushes_are_felt(name: str) -> None:
    runs = [watched(name, 500 + seed, 12.0, pushes=True) for seed in range(DRAWS)]
    assert sum(run.pushes for run in runs) >= 200
    assert in_time(runs) >= 0.95


def still(watch: ContactWatch, load: np.ndarray, states: int, begin: int = 0) -> list[int]:
    """Hold a PUMA still under an external effort; numbers of the states with which a contact began."""
    robot = rne.load_urdf("puma560")
    q, zero = np.array(robot.neutral), np.zeros(robot.n)
    effort = rne.gravity_torque(robot, q) - load
    return [k for k in range(begin, begin + states) if watch.take(10**6 * (k + 1), q, zero, effort, zero)]


def test_tare_threshold_end_of_contact_and_text() -> None:
    robot = rne.load_urdf("puma560")
    observer = rne.MomentumObserver(robot, model_error=0.0, friction=None)
    watch = ContactWatch(ContactSettings(observer, np.full(6, 3.0)))
    with pytest.raises(ControlError, match="must be driven"):
        watch.tare()
    load = 2.0 * np.eye(6)[1]
    assert not still(watch, load, 200)
    np.testing.assert_allclose(watch.external, load, atol=1e-6)
    watch.tare()
    np.testing.assert_allclose(watch.external, 0.0, atol=1e-12)
    assert watch.text() == ""
    assert len(still(watch, load + 40.0 * np.eye(6)[2], 50, 200)) == 1
    assert watch.text().startswith(f"joint {robot.joint_names[2]!r}: external effort 40, more than 3 ")
    with pytest.raises(ControlError, match="a contact is felt"):
        watch.tare()
    still(watch, load, 99, 250)
    assert watch.joint >= 0
    still(watch, load, 100, 349)
    assert watch.joint < 0
    assert not still(watch, load, 1, 900)  # after a gap it begins anew
    np.testing.assert_allclose(watch.allowance, observer.start(robot.neutral, np.zeros(6)).allowance, atol=1e-12)


def test_a_payload_that_was_tared_is_no_contact_once_the_model_has_it() -> None:
    """Before: the tare stayed, and took the weight that the model had by then once more."""
    robot = rne.load_urdf("puma560")
    loaded = robot.with_payload(Payload("tool0", 2.0))
    bare, known = (
        ContactSettings(rne.MomentumObserver(one, model_error=0.0, friction=None), np.full(6, 3.0))
        for one in (robot, loaded)
    )
    watch, weight = ContactWatch(bare), [rne.gravity_torque(one, robot.neutral) for one in (robot, loaded)]
    still(watch, weight[0] - weight[1], 200)
    watch._calm, watch.joint = 0.0, -1
    watch.tare()
    watch.adopt(known)
    assert not still(watch, weight[0] - weight[1], 200, 200)
    np.testing.assert_allclose(watch.external, 0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("values", "said"),
    [({"threshold": -1.0}, "threshold"), ({"reaction": "run"}, "one of none, stop"), ({"retract_time": 0.0}, "t")],
)
def test_settings_that_are_refused(values: dict[str, object], said: str) -> None:
    given = {"observer": rne.MomentumObserver(rne.load_urdf("panda")), "threshold": np.full(7, 1.0)}
    with pytest.raises(ControlError, match=said):
        ContactSettings(**{**given, **values})  # type: ignore[arg-type]
