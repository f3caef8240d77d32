"""The part of `rne info` for flexible links: modes, vibrations, sag under gravity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from rne_dynamics.cli.table_layout import print_table
from rne_dynamics.errors import ModelError
from rne_dynamics.flexible.linearised import Linearised, linearised
from rne_dynamics.flexible.poses import tip_deflections
from rne_dynamics.flexible.static import balance
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.flexible.carried import clamped_frequencies, loads
from rne_dynamics.model.inertia import Array


def describe_flexible(arm: FlexibleArm) -> dict[str, Any]:
    """The flexible links, and the vibrations of the arm at rest at zero with its joints held, as plain values.

    Of each link: its tip in its own frame, m; mass of its elastic part, kg; modes; frequencies clamped at its root, Hz,
    bare and with its subtree at zero as one rigid body (``carrying``); displacement (m) and turn (rad) of the tip at
    rest. Sag and vibrations are `None` where the arm does not settle under gravity; ``unsettled`` then says why.
    """
    sags = frequencies = ratios = unsettled = None
    try:
        delta, found = at_rest(arm)
        sags = tip_deflections(arm, delta).tolist()
        frequencies, ratios = hertz(found.frequencies), found.damping_ratios.tolist()
    except ModelError as fault:
        unsettled = str(fault)
    return {
        "links": [
            {
                "name": link.link,
                "tip": link.tip.tolist(),
                "elastic_mass": link.inertia.mass,
                "modes": list(link.mode_names),
                "bare": hertz(clamped_frequencies(link)),
                "carrying": hertz(clamped_frequencies(link, loads(arm.robot, link.link))),
                "sag": None if sags is None else sags[k],
            }
            for k, link in enumerate(arm.flexible_links)
        ],
        "modes": arm.modes,
        "frequencies": frequencies,
        "damping_ratios": ratios,
        "unsettled": unsettled,
    }


def at_rest(arm: FlexibleArm) -> tuple[Array, Linearised]:
    """Amplitudes of the modes, (modes,), and vibrations of an arm at rest under gravity, all joints held at zero.

    `ModelError` where it does not settle or buckles.
    """
    rest = np.zeros(arm.n)
    delta = balance(arm, arm.neutral, rest, rest).delta
    vibrations = linearised(arm, arm.neutral, delta=delta)
    if (vibrations.damping_ratios < -1e-9).any():
        raise ModelError(
            f"arm {arm.name!r} buckles under gravity with all joints at zero: its links cannot hold the load; make "
            "them stiffer (EI), or the load lighter"
        )
    return delta, vibrations


def hertz(omega: Array) -> list[float]:
    """Frequencies in Hz from rad/s."""
    return [float(x) for x in omega / (2.0 * math.pi)]


def print_flexible(info: dict[str, Any], out: Console) -> None:
    """Print the flexible links and the vibrations."""
    columns = ("flexible link", "elastic mass", "modes", "clamped, bare", "clamped, carrying", "sag", "turn")
    links = Table(*columns, header_style="bold")
    for row in info["links"]:
        sag = row["sag"]
        links.add_row(
            row["name"], f"{row['elastic_mass']:.5g}", " ".join(row["modes"]), _listed(row["bare"]),
            _listed(row["carrying"]),
            *(("-", "-") if sag is None else (_millimetres(sag[:3]), f"{float(np.linalg.norm(sag[3:])):.3g}")),
        )  # fmt: skip
    print_table(out, links)
    if info["frequencies"] is None:
        out.print(f"vibrations: {info['unsettled']}")
    else:
        damped = ", ".join(
            f"{f:.4g} ({100.0 * r:.2g} %)" for f, r in zip(info["frequencies"], info["damping_ratios"], strict=True)
        )
        out.print(f"vibrations at zero with the joints held: {damped} Hz (of critical damping)")
    out.print("flexible links: kg, Hz; sag (mm) and turn (rad) of the tip at rest under gravity, all joints at zero.")


def _listed(values: list[float]) -> str:
    return "  ".join(f"{x:.4g}" for x in values) or "-"


def _millimetres(sag: list[float]) -> str:
    return f"{1e3 * float(np.linalg.norm(sag)):.4g} mm"
