"""Simulated arms that are not what their file says, and logs of their motion."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

import rne_dynamics as rne
from rne_dynamics.identification.consistent_fit import ball, corrected, moved, parameters_of
from rne_dynamics.identification.motion import Motion
from rne_dynamics.recording.recording import Recording

PERIOD = 0.005


class SecretArm(NamedTuple):
    """A robot and what it really is: parameters of its links, friction (viscous, Coulomb, offset) and rotors."""

    robot: rne.RobotModel
    parameters: np.ndarray
    friction: np.ndarray
    rotors: np.ndarray

    def with_load(self, link: str, mass: float, com: tuple[float, float, float]) -> SecretArm:
        """The arm with a ball on a link."""
        frame, parameters = self.robot.links[link], self.parameters.copy()
        body = moved(moved(ball(mass, 0.05), np.eye(3), np.array(com)), frame.rotation, frame.position)
        parameters[10 * frame.body : 10 * frame.body + 10] += parameters_of(body[None])
        return self._replace(parameters=parameters)

    def efforts(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Efforts on the motor's side; Coulomb friction grows over 0.05 rad/s."""
        x = np.clip(qd / 0.05, -1.0, 1.0)
        own = np.stack((qd, 0.5 * x * (3.0 - x * x), np.ones_like(qd)), axis=-1)
        rigid = rne.regressor(self.robot, q, qd, qdd) @ self.parameters
        return rigid + (own * self.friction).sum(axis=-1) + self.rotors * qdd

    def motion(self, seed: int, seconds: float = 20.0, noise: float = 0.01) -> Motion:
        """A Fourier series with exact rates, and efforts with noise, a part of their root mean squares."""
        q, qd, qdd = fourier(self.robot.n, seed, seconds)
        tau, rng = self.efforts(q, qd, qdd), np.random.default_rng(seed + 1000)
        tau += noise * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
        return Motion("simulated", PERIOD, q, qd, qdd, tau, 6.0 / seconds * 4.0)

    def recording(self, seed: int, seconds: float = 20.0, noise: float = 0.01) -> Recording:
        """The same as recorded by encoders."""
        motion = self.motion(seed, seconds, noise)
        q = motion.q + 2e-5 * np.random.default_rng(seed + 2000).normal(size=motion.q.shape)
        return Recording("simulated", self.robot.joint_names, PERIOD * np.arange(len(q)), q, effort=motion.effort)

    def log(self, path: Path, seed: int, *, scale: np.ndarray | float = 1.0, seconds: float = 20.0) -> str:
        """Write a log: times, positions and torques over `scale`; its path."""
        recording = self.recording(seed, seconds)
        np.savez(path, times=recording.t, positions=recording.q, torques=recording.effort / scale)
        return str(path)


def fourier(n: int, seed: int, seconds: float) -> tuple[np.ndarray, ...]:
    """Positions, velocities and accelerations, (rows, n)."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, PERIOD)[:, None, None]
    rate = 2.0 * np.pi * 4.0 / seconds * np.arange(1, 6)
    a, b = 0.4 * rng.normal(size=(2, n, 5)) / np.arange(1, 6)
    s, c = np.sin(rate * t), np.cos(rate * t)
    return (
        (a * s + b * c).sum(axis=2), (rate * (a * c - b * s)).sum(axis=2), (-(rate**2) * (a * s + b * c)).sum(axis=2)
    )  # fmt: skip


def secret(robot: rne.RobotModel, seed: int, spread: float = 0.5) -> SecretArm:
    """Masses wrong by up to `spread`, mass centres by 3 cm and sizes by 20 % at 0.5; unknown friction and rotors."""
    rng = np.random.default_rng(seed)
    P, _ = corrected(rne.inertial_parameters(robot), robot.body_names)
    for i in range(len(P)):
        D = np.eye(4)
        D[:3, :3] *= 1.0 + 0.4 * spread * rng.uniform(-1.0, 1.0)
        D[:3, 3] = 0.06 * spread * rng.uniform(-1.0, 1.0, 3)
        P[i] = (1.0 + spread * rng.uniform(-1.0, 1.0)) * D @ P[i] @ D.T
    size = np.clip(robot.effort_limit, 5.0, 100.0)[:, None]
    friction = size * rng.uniform([0.0, 0.005, -0.01], [0.04, 0.05, 0.01], (robot.n, 3))
    return SecretArm(robot, parameters_of(P), friction, rng.uniform(0.1, 0.5, robot.n))
