"""Files of modal integrals, as a finite-element program would write them."""

from __future__ import annotations

import json

import numpy as np

from rne_dynamics.model.flexible.modal import TableField


def save_modal_link(path, modal, points=None):
    """Write a flexible link as .json or .npz, with its shapes at the tip and at `points` or where it has them."""
    field, m = modal.field, modal.modes
    table = isinstance(field, TableField)
    wanted = np.array(field.points if table and points is None else () if points is None else points).reshape(-1, 3)
    tolerance = field.tolerance if table else 1e-4
    if not (np.linalg.norm(wanted - modal.tip, axis=1) <= tolerance).any():
        wanted = np.vstack([wanted, modal.tip])
    there = [modal.at(point) for point in wanted]
    data = {
        "modes": list(modal.mode_names),
        "mass": modal.inertia.mass, "com": modal.inertia.com, "inertia": modal.inertia.inertia,
        "C_k": modal.first, "C_kl": modal.second, "K": modal.stiffness, "damping": modal.damping, "tip": modal.tip,
        "points": wanted, "tolerance": tolerance,
        "translations": np.reshape([a.translation for a in there], (-1, m, 3)),
        "rotations": np.reshape([a.rotation for a in there], (-1, m, 3)),
    }  # fmt: skip
    shortenings = np.reshape([a.shortening for a in there], (-1, m, m, 3))
    if modal.shortening.any() or shortenings.any():
        data |= {"shortening": modal.shortening, "shortenings": shortenings}
        data |= {"coupling": modal.coupling, "hardening": modal.hardening}
    if path.suffix == ".npz":
        np.savez(path, **data)
    else:
        path.write_text(json.dumps(data, default=np.ndarray.tolist))
