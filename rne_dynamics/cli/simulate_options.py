"""Options of `rne simulate` that depend on each other: files, options without effect, motion of the base, presets."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from rne_dynamics.advice import rne
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.output_file import output_file
from rne_dynamics.input_file import MOST_ARRAYS
from rne_dynamics.recording.log_file import save_mcap
from rne_dynamics.recording.mcap_file import SUFFIX as MCAP
from rne_dynamics.simulation.plant.sampled_base import SampledBase
from rne_dynamics.simulation.runs.log import Log

#: How a log is written, by the ending of the file.
SAVE: dict[str, Callable[[Log, Path], None]] = {".csv": Log.save_csv, ".npz": Log.save_npz, MCAP: save_mcap}
#: Most numbers of a table that is written: 1 % less than is read, for the headers and names of an .npz.
MOST_NUMBERS = MOST_ARRAYS // 8 * 99 // 100


def refuse_unused(args: argparse.Namespace) -> None:
    """`ArgumentError` for options that the others leave without effect."""
    controlled = ("law", "law_parameter", "bandwidth", "integral", "control_rate", "no_friction_compensation",
                  "base_unknown", "no_effort_limits", "tolerance")  # fmt: skip
    for without, names, why in (
        (args.free, controlled, f"is for a controlled move; leave it out with --{'dae' if args.dae else 'free'}"),
        (args.samples is None, ("seed", "threads"), "needs --samples"),
        (args.shaper is None, ("modes",), "needs --shaper"),
    ):
        for name in names:
            if without and name in args.given:
                raise ArgumentError(f"--{name.replace('_', '-')} {why}")


def outputs(args: argparse.Namespace) -> list[Path]:
    """The files of --out and --record."""
    paths = [output_file(path, tuple(SAVE), "--out") for path in args.out]
    if args.record:
        paths.append(output_file(args.record, (MCAP,), "--record"))
    if args.samples is not None and any(path.suffix == MCAP for path in paths):
        raise ArgumentError(f"an {MCAP} holds one run, and --samples makes many; give --out with .csv or .npz")
    return paths


def check_recording(files: Iterable[Path], rows: float, first: Callable[[], Log]) -> None:
    """`ArgumentError` for tables that `read_recording` would refuse; `first` makes a log of a row or two."""
    tables = [path for path in files if path.suffix != MCAP]
    if not tables:
        return
    columns = len(first().columns())
    most = MOST_NUMBERS // columns
    if rows >= most:
        raise ArgumentError(
            f"{tables[0]} would have {rows:.3g} rows of {columns} numbers, and `{rne('plot')}` reads at most {most} "
            f"such rows; simulate a shorter time, at a lower --control-rate or with a longer --dt, write an {MCAP}, or "
            "use the functions in Python"
        )


def base_motion(args: argparse.Namespace) -> SampledBase | None:
    """The motion of --base-motion; `ArgumentError` for its options without it."""
    if args.base_motion is None:
        if args.base_smoothing is not None or args.base_unknown:
            raise ArgumentError("--base-smoothing and --base-unknown need --base-motion")
        return None
    return SampledBase.load(args.base_motion, smoothing=args.base_smoothing)


class Preset(NamedTuple):
    """A simulation published in a paper: start of the actuated joints, rad or m, and duration, s.

    `to` is the end of a quintic from rest to rest, None for free motion.
    """

    start: tuple[float, ...]
    to: tuple[float, ...] | None
    seconds: float


def _degrees(*angles: float) -> tuple[float, ...]:
    return tuple(math.radians(angle) for angle in angles)


#: By robot's name, then by the preset's: those of the pantograph of document 002.
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
    """Set the arguments of a preset; `ArgumentError` if the robot does not have it, or with --start, --to or --free.

    The papers' arms have no friction and no stops, nor have the presets.
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
