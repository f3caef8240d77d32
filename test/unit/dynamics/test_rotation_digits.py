"""Rotations of every size, from 1e-300 rad to the half turn, keep the digits that doubles have."""

from __future__ import annotations

import numpy as np
import pytest
from support.exact import cos_sin, error, exact, exponential
from support.robots import robot

import rne_dynamics as rne
from rne_dynamics.dynamics.free_bodies.state import body_states, constraint_errors, displaced
from rne_dynamics.dynamics.kinematics.kinematics import (
    quaternion_matrices,
    rotation_quaternions,
    vector_quaternions,
)
from rne_dynamics.model.tree import rotation_about
from rne_dynamics.spatial.vector import rotation_vector

ANGLES = (1e-300, 1e-12, 1.1e-9, 1e-6, 0.9e-4, 1.1e-4, 0.1, 2.0, 3.1415926)


def directions(count: int) -> np.ndarray:
    axes = np.random.default_rng(5).normal(size=(count, 3))
    axes[0], axes[1], axes[2] = [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [1e-9, 1.0, 0.0]
    return axes / np.linalg.norm(axes, axis=1, keepdims=True)


@pytest.mark.parametrize("angle", ANGLES)
def test_quaternions_and_rotation_vectors_there_and_back(angle):
    for vector in angle * directions(6):
        half = exact(vector) / 2
        size = sum(x * x for x in half).sqrt()
        c, s = cos_sin(size)
        expected = np.array([*(half * (s / size)), c])
        (quaternion,) = vector_quaternions(vector[None])
        assert error(quaternion[:3], expected[:3]) < 5e-16  # small angles are the vector part: relative to itself
        assert error(quaternion, expected) < 5e-16
        R, _ = exponential(exact(vector))
        matrix = quaternion_matrices(quaternion[None])
        assert error(matrix[0], R) < 1e-15
        found = rotation_quaternions(matrix)[0]
        assert np.abs(found * np.sign(found @ quaternion) - quaternion).max() < 1e-15
        assert error(np.array(rotation_vector(tuple(matrix[0].ravel()))), exact(vector)) < 2e-15


@pytest.mark.parametrize("angle", [*ANGLES, np.pi, 4.0])
def test_rotation_about_an_axis(angle):
    for axis in directions(6):
        assert error(rotation_about(axis, angle), exponential(exact(axis) * exact(angle))[0]) < 2e-15


@pytest.mark.parametrize("angle", [*ANGLES, 4.0])
def test_a_floating_joint_moves_along_a_screw_of_any_turn(angle):
    """At 1e-4 rad (1 − cos φ)/φ² has lost half of its digits, which was 1e-12 of the displacement."""
    arm = robot("panda.urdf", "floating")
    q, step = np.zeros(arm.nq), np.zeros(arm.n)
    q[6] = 1.0
    for axis in directions(6):
        v = np.random.default_rng(6).normal(size=3)
        step[:3], step[3:6] = v, angle * axis
        R, V = exponential(exact(step[3:6]))
        there = rne.integrate_configuration(arm, q, step)
        assert error(there[:3], V @ exact(v)) < 1e-15
        assert error(quaternion_matrices(there[None, 3:7])[0], R) < 2e-15


def test_a_body_turned_over_across_its_joint_is_half_a_turn_off():
    arm = robot("panda.urdf")
    states = body_states(arm, np.zeros(arm.nq), np.zeros(arm.n))
    for angle in (1e-12, 1e-6, 1.0, 3.0, np.pi - 1e-10, np.pi):
        for axis in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.8, 0.0]):
            step = np.zeros((arm.bodies, 6))
            step[3, 3:] = angle * np.array(axis)
            position, _ = constraint_errors(arm, displaced(states, step))
            assert np.linalg.norm(position[3, 3:]) == pytest.approx(angle, rel=1e-3 if angle < 1e-9 else 1e-9)
