"""Elastic energy, elastic and damping matrices of all links together, and slopes of forces found by differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array


def elastic_matrix(arm: FlexibleArm) -> Array:
    """K (42) of all modes, one block a link; shape (modes, modes)."""
    return _blocks(arm, "stiffness")


def damping_matrix(arm: FlexibleArm) -> Array:
    """The links' own damping, one block a link; shape (modes, modes)."""
    return _blocks(arm, "damping")


def elastic_energy(arm: FlexibleArm, delta: Array) -> Array:
    """Energy in the bent links (46), J, with its third and fourth order if they are stiffened; δ (rows, modes)."""
    energy: Array = 0.5 * np.einsum("bi,ij,bj->b", delta, elastic_matrix(arm), delta)
    for link in arm.flexible_links:
        own = delta[:, arm.mode_slice(link.link)]
        energy = energy + np.einsum("bi,bj,bk,ijk->b", own, own, own, link.coupling, optimize=True) / 3.0
        energy = energy + 0.25 * np.einsum("bi,bj,bk,bl,ijkl->b", own, own, own, own, link.hardening, optimize=True)
    return energy


def slopes(force: Callable[[Array], Array], at: Array, steps: Array) -> Array:
    """∂force/∂x by fourth-order central differences; shape (forces, len(at)).

    The forces here are sines and cosines of joint positions times polynomials of deflections, so that with steps of
    1e-3 of their size little more than round-off is left.
    """
    columns = []
    for k, h in enumerate(steps.tolist()):
        e = np.zeros_like(at)
        e[k] = h
        near, far = force(at + e) - force(at - e), force(at + 2.0 * e) - force(at - 2.0 * e)
        columns.append((8.0 * near - far) / (12.0 * h))
    table: Array = np.array(columns).T
    return table


def _blocks(arm: FlexibleArm, name: str) -> Array:
    whole = np.zeros((arm.modes, arm.modes))
    for link in arm.flexible_links:
        own = arm.mode_slice(link.link)
        whole[own, own] = getattr(link, name)
    return whole
