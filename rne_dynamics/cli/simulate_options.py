"""Options of `rne simulate` that depend on each other: files, options without effect, the motion of the base."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

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
    controlled = ("law", "bandwidth", "integral", "control_rate", "no_friction_compensation", "base_unknown",
                  "no_effort_limits", "tolerance")  # fmt: skip
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
