"""Defaults of the library, of `rne simulate` and of the nodes agree."""

from __future__ import annotations

import dataclasses
from argparse import ArgumentParser

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.cli.arguments import declare
from rne_dynamics.cli.simulated import motion, simulate

ROBOT = rne.load_urdf("puma560")
GAINS = rne.Gains.critically_damped(6, 20.0)


def test_rne_simulate_compensates_friction_as_the_library_does() -> None:
    parser = ArgumentParser()
    declare(parser, simulate.ARGUMENTS)
    for law, kind in (("computed_torque", rne.ComputedTorque), ("pd_gravity", rne.PdGravity)):
        args = parser.parse_args(["puma560", "--law", law])
        found = motion.controller(args, ROBOT, np.zeros(ROBOT.n)).friction_compensation
        assert found == kind(ROBOT, GAINS).friction_compensation == rne.FrictionCompensation()


def test_nodes_compensate_friction_as_the_library_does() -> None:
    pytest.importorskip("rclpy")
    from rne_dynamics.ros import computed_torque_controller, gravity_compensation
    from rne_dynamics.ros.parameters.controller import friction_compensation

    for node, law in (
        (computed_torque_controller, rne.ComputedTorque(ROBOT, GAINS)),
        (gravity_compensation, rne.GravityCompensation(ROBOT, 0.0)),
    ):
        assert friction_compensation({p.name: p.default for p in node.SCHEMA}) == law.friction_compensation


def test_the_simulator_node_simulates_what_an_arm_plant_is() -> None:
    pytest.importorskip("rclpy")
    from rne_dynamics.ros.simulator import SCHEMA

    given = {p.name: p.default for p in SCHEMA}
    fields = {f.name: f.default for f in dataclasses.fields(rne.ArmPlant)}
    assert all(given[name] == fields[name] for name in ("friction", "stops", "limit_effort"))
