"""Derivatives by sixth-order central differences, for checking analytic ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import rne_dynamics as rne


def rate(f: Callable[[float], np.ndarray], h: float = 1e-3) -> np.ndarray:
    """df/dt at t = 0."""
    weights = {1: 0.75, 2: -0.15, 3: 1.0 / 60.0}
    return np.asarray(sum(w * (np.asarray(f(k * h)) - np.asarray(f(-k * h))) for k, w in weights.items())) / h


def along(model: rne.RobotModel, f, q: np.ndarray, direction: np.ndarray, h: float = 1e-3) -> np.ndarray:
    """Derivative of f(q) along a velocity."""
    return rate(lambda t: f(rne.integrate_configuration(model, q, t * direction)), h)


def gradient(model: rne.RobotModel, f, q: np.ndarray) -> np.ndarray:
    """∂f/∂q along each velocity coordinate; the coordinate is the last axis."""
    return np.stack([along(model, f, q, e) for e in np.eye(model.n)], axis=-1)
