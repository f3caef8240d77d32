from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support.swept import fails, worst_error

from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import SimulationError
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.rollout import Rollout, sweep

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def cases():
    robot = load_urdf("puma560")
    law = ComputedTorque(robot, Gains.critically_damped(robot.n, 30.0))
    return [(Rollout(ArmPlant(robot), law, Quintic(np.zeros(6), np.full(6, 0.1), 0.1)), seed) for seed in range(4)]


def test_other_processes_give_the_same_results(cases, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "test")]))
    reported: list[int] = []
    here = sweep(worst_error, cases, progress=reported.append)
    assert reported == [1, 2, 3, 4]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = sweep(worst_error, cases, client=pool)
    assert [error for error, *_ in here] == [error for error, *_ in there]
    assert os.getpid() not in {process for *_, process in there}


@pytest.mark.soak
def test_dask_does_the_same_with_one_form_of_the_loop(cases, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "test")]))
    here = sweep(worst_error, cases)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        there = sweep(worst_error, cases, client=client)
    assert [error for error, *_ in here] == [error for error, *_ in there]
    assert {kinds for _, kinds, _ in there} == {1}
    assert os.getpid() not in {process for *_, process in there}


def test_a_case_that_fails_is_named():
    with pytest.raises(SimulationError, match="case 2 of 4 failed: ValueError: two is too many"):
        sweep(fails, range(4))
