"""Logs of simulated arms whose masses are wrong by half, with friction and noise, and the faults that logs have."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from support.robots import robot as named

import rne_dynamics as rne
from rne_dynamics.model.robot import is_length
from rne_dynamics.recording.recording import Recording

ARMS = ("puma560", "scara", "panda", "ur5_robot.urdf")
PERIOD = 0.005


def turning(robot):
    kinds = {joint.name: joint.kind.value for joint in robot.tree.joints}
    return np.array([not is_length(name, kinds[name]) for name in robot.joint_names])


def motion(robot, seed, seconds, *, points=False):
    """Times, and positions with their rates, inside the limits: Fourier series, or moves between random points."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, seconds, PERIOD)
    low, high = np.clip(robot.lower, -2.5, 2.5), np.clip(robot.upper, -2.5, 2.5)
    if points:
        goals = rng.uniform(-0.7, 0.7, (16, robot.n))
        k, part = np.divmod(t * 15.0 / seconds, 1.0)
        x = np.clip((part - 0.1) / 0.8, 0.0, 1.0)[:, None]
        k = k.astype(int)
        q = goals[k] + x**3 * (10.0 - 15.0 * x + 6.0 * x**2) * (goals[k + 1] - goals[k])
    else:
        rate = 2.0 * np.pi * 0.1 * np.arange(1, 6)
        a, b = rng.normal(size=(2, robot.n, 5)) / np.arange(1, 6)
        q = (a * np.sin(rate * t[:, None, None]) + b * np.cos(rate * t[:, None, None])).sum(axis=2)
    qd = np.gradient(q, PERIOD, axis=0)
    fastest = np.where(np.isfinite(robot.velocity_limit), robot.velocity_limit, 2.0)
    scale = np.minimum(0.4 * (high - low) / np.abs(q).max(axis=0), 0.8 * fastest / np.abs(qd).max(axis=0))
    qd = scale * qd
    return t, 0.5 * (low + high) + scale * q, qd, np.gradient(qd, PERIOD, axis=0)


@cache
def logged(name, seed=1, *, points=False, seconds=15.0):
    """A robot, and the log of the same one with other masses (of each link 0.5 to 1.5 times); 1 % noise."""
    robot, rng = named(name), np.random.default_rng(100 + seed)
    t, q, qd, qdd = motion(robot, seed, seconds, points=points)
    links = rne.inertial_parameters(robot).reshape(-1, 10) * rng.uniform(0.5, 1.5, (robot.bodies, 1))
    tau = rne.regressor(robot, q, qd, qdd) @ links.ravel()
    size = np.sqrt((tau**2).mean(axis=0))
    size = np.maximum(size, 0.02 * size.max())
    viscous, coulomb, offset = rng.uniform([[0.0], [0.03], [-0.03]], [[0.2], [0.25], [0.03]], (3, robot.n)) * size
    tau += coulomb * np.tanh(qd / 0.02) + viscous * qd / np.sqrt((qd**2).mean(axis=0)) + offset
    tau += 0.01 * size * rng.normal(size=tau.shape)
    q, qd = q + 2e-5 * rng.normal(size=q.shape), qd + 1e-4 * rng.normal(size=q.shape)
    return robot, Recording(f"{name}-{seed}", robot.joint_names, t, q, qd, tau), links.ravel()


def faults(robot, log, links):
    """Logs with one fault each, with its name and what must be named."""
    q, qd, tau, n = log.q, log.qd, log.effort, robot.n
    degrees = np.where(turning(robot), 180.0 / np.pi, 1.0)
    swapped = list(range(n))
    swapped[1], swapped[-1] = swapped[-1], swapped[1]
    second = np.where(np.arange(n) == 1, -1.0, 1.0)
    rest = np.zeros_like(q)
    gravity = rne.regressor(robot, q, rest, rest) @ links
    return {
        "sign of all": ("sign", replace(log, effort=-tau)),
        "sign of one": ("sign", replace(log, effort=second * tau)),
        "degrees": ("degrees", replace(log, q=q * degrees, qd=qd * degrees)),
        "degrees of positions": ("degrees", replace(log, q=q * degrees)),
        "degrees of velocities": ("degrees", replace(log, qd=qd * degrees)),
        "degrees without velocities": ("degrees", replace(log, q=q * degrees, qd=None)),
        "milliseconds": ("time", replace(log, t=1e3 * log.t)),
        "milliseconds without velocities": ("time", replace(log, t=1e3 * log.t, qd=None)),
        "nanoseconds": ("time", replace(log, t=1e9 * log.t)),
        "velocities turned": ("velocity", replace(log, qd=-qd)),
        "torques swapped": ("order", replace(log, effort=tau[:, swapped])),
        "torques reversed": ("order", replace(log, effort=tau[:, ::-1])),
        "positions swapped": ("order", replace(log, q=q[:, swapped], qd=qd[:, swapped])),
        "without gravity": ("gravity", replace(log, effort=tau - gravity)),
        "amperes": ("scale", replace(log, effort=tau / np.linspace(9.0, 15.0, n))),
        "motors": ("scale", replace(log, effort=tau / 100.0)),
    }
