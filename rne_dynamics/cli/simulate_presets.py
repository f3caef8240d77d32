"""Simulations published in papers, by name: those of the pantograph of document 002."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

from rne_dynamics.errors import ArgumentError


@dataclass(frozen=True)
class Preset:
    """One simulation of one robot.

    Parameters
    ----------
    start
        Start positions of the actuated joints, rad or m, in their order.
    to
        End of a quintic from rest to rest; None for free motion.
    seconds
        Duration.
    """

    start: tuple[float, ...]
    to: tuple[float, ...] | None
    seconds: float


def _degrees(*angles: float) -> tuple[float, ...]:
    return tuple(math.radians(angle) for angle in angles)


#: By robot's name, then by the preset's.
PRESETS = {
    "pantograph": {
        "first": Preset(_degrees(0.0, -70.0, 0.0), None, 10.0),
        "second": Preset(_degrees(0.0, 0.0, 50.0), None, 10.0),
        # the printed start of the second may be a misprint of this one: joint 2 hanging, as in the quintic's start
        "second-hanging": Preset(_degrees(0.0, -90.0, 50.0), None, 10.0),
        "quintic": Preset(_degrees(0.0, -90.0, 0.0), _degrees(90.0, -45.0, -18.0), 5.0),
    }
}


def apply_preset(args: argparse.Namespace, robot: str, joints: tuple[str, ...]) -> None:
    """Set the arguments of a preset; others stay.

    The papers' arms have no friction and no stops, nor have the presets.

    Raises
    ------
    ArgumentError
        A preset that the robot does not have, or together with --start, --to or --free.
    """
    known = PRESETS.get(robot, {})
    if args.preset not in known:
        has = f"it has {', '.join(known)}" if known else f"only {', '.join(PRESETS)} has presets"
        raise ArgumentError(f"--preset is {args.preset!r}, which robot {robot!r} does not have; {has}")
    for option, given in (("--start", args.start), ("--to", args.to), ("--free", args.free)):
        if given:
            raise ArgumentError(f"--preset sets the start and end of the motion; leave out {option}")
    preset = known[args.preset]
    args.start = [f"{name}={value!r}" for name, value in zip(joints, preset.start, strict=True)]
    args.free = preset.to is None
    if preset.to is not None:
        args.to = [f"{name}={value!r}" for name, value in zip(joints, preset.to, strict=True)]
    if args.seconds is None:
        args.seconds = preset.seconds
    args.no_friction = args.no_stops = True
