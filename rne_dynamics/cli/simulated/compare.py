"""`rne compare`: control laws on the same arms, which differ from their model."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.advice import extra
from rne_dynamics.cli.answer import Answer, Picture, Rows, check_files, finite, progress_bar, shown
from rne_dynamics.cli.arguments import REPORT, ROBOT, argument, flag, load_robot, positive, real, several, whole
from rne_dynamics.cli.simulated.motion import controller
from rne_dynamics.cli.with_ros.moves import plan_moves
from rne_dynamics.control.control_law import ControlLaw
from rne_dynamics.control.felt_inertia import joint_inertia
from rne_dynamics.control.laws import law_names
from rne_dynamics.errors import ArgumentError, ControlError, MissingDependencyError, refuse
from rne_dynamics.figures.style import COLORS, canvas
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.body_inertia import rotor_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.mismatch.comparison import (
    Comparison,
    Result,
    compare_laws,
    drawn_cases,
    slowest_springs,
    spring_cases,
    usual_cases,
)
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.rollout import Client

EXAMPLES = """\
examples:
  rne compare puma560                          all laws over a table of mismatches
  rne compare puma560 --law computed_torque --law pd_gravity --plot laws.png
  rne compare panda --trials 250 --seed 3      250 arms drawn at random, the same ones for each law
  rne compare puma560 --springs --report springs.html
  rne compare ur10 --trials 10000 --dask tcp://scheduler:8786

exit code: 0, also where a law failed on some arms; 1 if nothing was compared
"""

ARGUMENTS = (
    *ROBOT,
    several("--law", "NAME", f"a law to compare, of {', '.join(law_names())} or a module of your own; may be given "
            "several times (default: those named)"),
    argument("--seconds", type=positive(unit="s"), default=1.0, help="duration of the move (default 1)"),
    argument("--payload-link", metavar="LINK", help="where payloads are (default: the last link)"),
    argument("--trials", type=whole(1, 100_000), metavar="N", help="draw N arms at random instead of the table"),
    flag("--springs", "which springs and delays each law tolerates, instead of the table"),
    argument("--seed", type=whole(0, 2**63 - 1), default=0, help="seed of the random numbers (default 0)"),
    argument("--bandwidth", type=positive(unit="rad/s"), help="of laws that have one (default 40)"),
    argument("--integral", type=real(0.0), default=0.0, help="integral gain over bandwidth cubed (default 0)"),
    argument("--processes", type=whole(1, 1024), help="number of processes (default: all cores)"),
    argument("--dask", metavar="ADDRESS", help="scheduler of Dask whose workers simulate, as tcp://HOST:8786"),
    argument("--plot", metavar="FILE", help="figure (.png, .svg, .pdf); needs matplotlib"),
    REPORT,
    flag("--json", "print the figures as JSON"),
)  # fmt: skip
#: How long a scheduler is waited for, s.
DASK_TIMEOUT = 10.0
#: Number of failed simulations that are printed.
_PRINTED = 5
#: Springs, Hz, and delays, s, of --springs.
FREQUENCIES, DELAYS = (9.0, 16.0, 25.0, 40.0, 63.0, 100.0, 160.0), (0.0, 2e-3, 4e-3, 6e-3, 1e-2)


def run(args: argparse.Namespace) -> Answer:
    """Compare; nothing is judged."""
    check_files(args)
    refuse(ArgumentError, *(
        (getattr(args, one) and getattr(args, other) is not None,
         f"--{one} and --{other} are two kinds of comparison; give one")
        for one, other in (("springs", "trials"), ("dask", "processes"))
    ))  # fmt: skip
    robot = load_robot(args)
    if robot.kind == "flexible":
        raise ArgumentError(f"robot {robot.name!r} has flexible links; compare laws of an open arm or a mechanism")
    if args.springs and (robot.kind != "arm" or robot.open_tree.has_mimic):
        raise ArgumentError(f"--springs is for open arms without mimic joints, and robot {robot.name!r} is none; leave "
                            "it out")  # fmt: skip
    plan = plan_moves(robot.rigid, 3.0 * args.seconds)
    remarks = []
    if args.springs and not rotor_inertia(robot.open_tree).all():
        robot = _geared(robot.open_tree, plan.moves[0].start)
        remarks.append("Joints without rotor inertia were given that of their links at the start, as of matched gears.")
    laws = _laws(args, robot.rigid, plan.moves[0].start, remarks)
    plant = ArmPlant(robot.with_own_code(False).with_effort_limit(plan.effort_limit))
    cases = _cases(args, plant)
    runs = len(cases) * len(laws)
    with progress_bar(counted=True, quiet=args.json or not sys.stderr.isatty()) as bar, _processes(args, runs) as pool:
        task = bar.add_task("simulations", total=runs)
        found = compare_laws(plant, laws, plan.moves[0], cases, client=pool,
                             progress=lambda done: bar.update(task, completed=done))  # fmt: skip
    draw = partial(_plot_springs if args.springs else _plot_trials if args.trials else _plot_table, found=found)
    parts = {True: _springs, False: _summary if args.trials else _table}[args.springs](found)
    pictures: list[Picture] = [(draw, "Every law on the same arms")]
    failed = [f"{case}, {law}: {one.fault}" for case, row in found.results.items()
              for law, one in row.items() if one.fault]  # fmt: skip
    if len(failed) > _PRINTED:
        failed[_PRINTED:] = [f"and {len(failed) - _PRINTED} more that failed; --json has all"]
    legend = "Errors are those of the joint with the largest; efforts are parts of the limit."
    return Answer(
        _values(found, args), [*parts, legend, _margins(found), *remarks, *failed],
        title=f"{robot.name}: {len(laws)} laws, {len(cases)} mismatches", pictures=pictures,
    )  # fmt: skip


def _laws(args: argparse.Namespace, robot: RigidRobot, start: Array, remarks: list[str]) -> dict[str, ControlLaw]:
    """Laws by name; of all laws, those that refuse the robot are left out with a remark."""
    known = {"no_friction": False, "no_friction_compensation": False, "law_parameter": [], "control_rate": 1000.0,
             "given": ()}  # fmt: skip
    laws = {}
    for name in tuple(dict.fromkeys(args.law)) or law_names():
        try:
            laws[name] = controller(argparse.Namespace(**{**vars(args), **known, "law": name}), robot, start)
        except ControlError as error:
            if args.law:
                raise
            remarks.append(f"{name} is left out: {error}.")
    return laws


def _geared(robot: RobotModel, start: Array) -> RobotModel:
    """The arm with a rotor inertia at each joint that has none."""
    held = dict(zip(robot.joint_names, joint_inertia(robot, start).held, strict=True))
    joints = tuple(replace(joint, rotor_inertia=joint.rotor_inertia or float(held.get(joint.name, 0.0)))
                   for joint in robot.tree.joints)  # fmt: skip
    tree = replace(robot.tree, joints=joints)
    return assemble(tree, base=robot.base, gravity=robot.gravity).with_effort_limit(robot.effort_limit)


def _cases(args: argparse.Namespace, plant: ArmPlant) -> Mapping[str, Mismatch]:
    """Mismatches by name."""
    links = plant.robot.open_tree.links
    link = args.payload_link or max(links, key=lambda name: (links[name].body, list(links).index(name)))
    if plant.robot.open_tree.link(link).body < 0:
        raise ArgumentError(f"--payload-link is {link!r}, which does not move; name a link that does")
    if args.springs:
        return spring_cases(FREQUENCIES, DELAYS)
    if args.trials:
        return drawn_cases(link, args.trials, args.seed)
    return usual_cases(plant, link, args.seed)


def _processes(args: argparse.Namespace, runs: int) -> AbstractContextManager[Client | None]:
    """What runs so many simulations; None where this process is enough."""
    if args.dask:
        return _dask(args.dask)
    count = min(args.processes or os.cpu_count() or 1, runs)
    return nullcontext() if count == 1 else ProcessPoolExecutor(count, get_context("spawn"))


def _dask(address: str) -> AbstractContextManager[Client]:
    """A client of a scheduler."""
    try:
        from dask import distributed
    except ImportError:
        raise MissingDependencyError(f"--dask needs Dask: {extra('sweep')}") from None
    client: Callable[..., AbstractContextManager[Client]] = distributed.Client
    try:
        return client(address, timeout=DASK_TIMEOUT)
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"--dask is {address!r}, where no scheduler of Dask answers ({' '.join(str(error).split())}); start one "
            "with `dask scheduler`, and `dask worker ADDRESS` on each computer"
        ) from None


def _margins(found: Comparison) -> Rows:
    """Stability margins of the laws."""
    rows = [[law, *(shown(finite(x), ".3g") for x in (one.least_gain, one.gain, 1e3 * one.delay))]
            for law, one in found.margins.items()]  # fmt: skip
    return Rows(("law", "gain from", "to", "delay, ms"), rows, "stability margins, linearised where the move begins")


def _cell(found: Result) -> str:
    """One result in a table."""
    if found.fault:
        return "failed"
    return f"{1e3 * found.rms_error:.3g} / {1e3 * found.peak_error:.3g} / {shown(finite(found.peak_effort), '.2f')}" + (
        "" if found.stable else " !")  # fmt: skip


#: Title of the table with such cells.
_CELLS = "RMS and peak error (mrad or mm), peak effort; ! not at rest at the end"


def _table(found: Comparison) -> list[str | Rows]:
    rows = [[case, *(_cell(row[law]) for law in found.laws)] for case, row in found.results.items()]
    return [Rows(("mismatch", *found.laws), rows, _CELLS)]


def _summary(found: Comparison) -> list[str | Rows]:
    rows = []
    for law in found.laws:
        results = [row[law] for row in found.results.values()]
        good = [r for r in results if not r.fault]
        rms = np.percentile([1e3 * r.rms_error for r in good], (50.0, 95.0, 100.0)) if good else [math.nan] * 3
        peak = max((1e3 * r.peak_error for r in good), default=math.nan)
        rows.append([law, *(f"{x:.3g}" for x in (*rms, peak)), f"{sum(r.stable for r in results)} of {len(results)}"])
    return [Rows(("law", "RMS median", "95 %", "worst", "peak", "came to rest"), rows, "errors, mrad or mm")]


def _springs(found: Comparison) -> list[str | Rows]:
    rows = [[law, *(f"{f:g}" if math.isfinite(f) else "none" for f in slowest_springs(found, law).values())]
            for law in found.laws]  # fmt: skip
    title = "slowest springs that each law tolerates, Hz, by delay"
    return [Rows(("law", *(f"{1e3 * d:g} ms" for d in DELAYS)), rows, title)]


def _values(found: Comparison, args: argparse.Namespace) -> dict[str, Any]:
    """Plain values for --json."""
    results = [
        {"case": case, "mismatch": found.cases[case].as_plain(), "law": law, "stable": one.stable, "fault": one.fault,
         **{name: finite(getattr(one, name)) for name in ("rms_error", "peak_error", "peak_effort", "speed")}}
        for case, row in found.results.items() for law, one in row.items()
    ]  # fmt: skip
    margins = {law: {name: finite(x) for name, x in one._asdict().items()} for law, one in found.margins.items()}
    return {"laws": list(found.laws), "seconds": args.seconds, "seed": args.seed, "margins": margins,
            "results": results}  # fmt: skip


def _plot_table(path: Path, found: Comparison) -> None:
    """Errors of all cases, a point for each law; crosses where the arm did not come to rest."""
    cases = list(found.results)
    with canvas(path, 9.0, 1.4 + 0.3 * len(cases)) as figure:
        axes = figure.subplots()
        for k, law in enumerate(found.laws):
            results = [found.results[case][law] for case in cases]
            for wanted, marker in ((True, "o"), (False, "x")):
                places = [i for i, one in enumerate(results) if one.stable == wanted and not one.fault]
                axes.plot([1e3 * results[i].rms_error for i in places], places, marker, color=COLORS[k % len(COLORS)],
                          label=law.replace("_", " ") if wanted else None)  # fmt: skip
        axes.set_yticks(range(len(cases)), cases)
        axes.set(xscale="log", ylim=(len(cases) - 0.5, -0.5),
                 xlabel="largest RMS error of a joint (mrad or mm); × not at rest at the end")  # fmt: skip
        figure.legend(loc="outside upper right", ncols=len(found.laws))


def _plot_trials(path: Path, found: Comparison) -> None:
    """Part of the arms whose error is below each value, failed ones never."""
    with canvas(path, 8.0, 4.5) as figure:
        axes = figure.subplots()
        for k, law in enumerate(found.laws):
            results = [row[law] for row in found.results.values()]
            errors = sorted(1e3 * one.rms_error for one in results if one.stable)
            axes.step(errors, 100.0 * np.arange(1, len(errors) + 1) / len(results), where="post",
                      color=COLORS[k % len(COLORS)], label=law.replace("_", " "))  # fmt: skip
        axes.set(xscale="log", ylim=(0.0, 100.0), xlabel="largest RMS error of a joint (mrad or mm)",
                 ylabel="arms that stay below it and come to rest (%)")  # fmt: skip
        axes.legend()


def _plot_springs(path: Path, found: Comparison) -> None:
    """Slowest springs that each law tolerates, over the delay."""
    with canvas(path, 8.0, 4.5) as figure:
        axes = figure.subplots()
        for k, law in enumerate(found.laws):
            slowest = slowest_springs(found, law)
            # laws with equal results stay visible
            shifted = [1e3 * delay + 0.06 * (k - 0.5 * len(found.laws)) for delay in slowest]
            axes.plot(shifted, [f if math.isfinite(f) else math.nan for f in slowest.values()], "o-",
                      color=COLORS[k % len(COLORS)], label=law.replace("_", " "))  # fmt: skip
        axes.set(yscale="log", xlabel="delay of efforts (ms)", ylabel="slowest springs it tolerates (Hz)")
        axes.set_yticks(FREQUENCIES, [f"{f:g}" for f in FREQUENCIES])
        axes.minorticks_off()
        figure.legend(loc="outside upper right", ncols=len(found.laws))
