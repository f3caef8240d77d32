"""CPU time of the first call of each public function of a robot, for all robots that ship, with no machine code kept.

    python benchmarks/first_calls.py
    python benchmarks/first_calls.py --robots panda delta --functions inverse_dynamics --json

Each call runs in a process of its own, forked after the imports, with an empty folder; loading the robot is included.

exit code: 0 if each takes at most --most, 1 if not
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from script import print_table

import rne_dynamics as rne
from rne_dynamics import flexible
from rne_dynamics.compiling import store
from rne_dynamics.description.share import shipped_models, shipped_robots


def functions() -> dict[str, Callable[..., Any]]:
    """Public functions whose first parameter is a robot, those for arms with flexible links included."""
    public = {of: getattr(module, of) for module in (rne, flexible) for of in module.__all__}
    return {
        name: function for name, function in public.items()
        if inspect.isfunction(function) and next(iter(inspect.signature(function).parameters), "") in ("robot", "arm")
    }  # fmt: skip


def arguments(robot: Any, function: Callable[..., Any]) -> list[Any] | None:
    """Numbers for the function's parameters without defaults; None where one is not known."""
    rng = np.random.default_rng(0)
    known: dict[str, Callable[[], Any]] = {
        "q": lambda: np.array(robot.neutral) + 0.05, "link": lambda: robot.body_model.tree.links[-1].name,
        "quantity": lambda: "inverse_dynamics", "rng": lambda: rng, "lock": lambda: {robot.joint_names[0]: 0.0},
        "payload": lambda: rne.Payload(robot.body_model.tree.links[-1].name, 0.1),
        "delta": lambda: np.zeros(robot.modes), "deltad": lambda: np.zeros(robot.modes),
        **dict.fromkeys(("qd", "qdd", "tau", "step"), lambda: rng.uniform(size=robot.n)),
    }  # fmt: skip
    names = [x.name for x in inspect.signature(function).parameters.values() if x.default is x.empty][1:]
    return [known[name]() for name in names] if set(names) <= set(known) else None


def first_call(robot_name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """CPU time, s, in this process; or why there is no such call."""
    begin = time.process_time()
    robot = rne.load_model(robot_name)
    loaded = time.process_time() - begin
    try:
        given = arguments(robot, function)
        if given is None:
            return {"left_out": "a parameter is not known to this script"}
        begin = time.process_time()
        function(robot, *given)
    except (rne.RneDynamicsError, TypeError, AttributeError) as error:
        return {"left_out": f"{type(error).__name__}: {error}"}
    return {"seconds": time.process_time() - begin + loaded}


def forked(robot_name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """`first_call` in a process of its own with an empty folder for machine code."""
    read, write = os.pipe()
    with TemporaryDirectory() as folder:
        child = os.fork()
        if child == 0:
            store._places = lambda: ((Path(folder), ""),)
            os.write(write, json.dumps(first_call(robot_name, function)).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
    return dict(json.loads(answer)) if answer else {"left_out": "the process ended"}


def main() -> int:
    """Measure and print; 1 if a call takes longer than it may."""
    known = functions()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="*", default=[*shipped_robots(), *shipped_models()])
    parser.add_argument("--functions", nargs="*", default=list(known), choices=list(known))
    parser.add_argument("--most", type=float, default=0.5, help="most CPU time of a call, s (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    rows = {f"{robot}, {name}": forked(robot, known[name]) for robot in args.robots for name in args.functions}
    times = {key: row["seconds"] for key, row in rows.items() if "seconds" in row}
    slow = [key for key, seconds in times.items() if seconds > args.most]
    if args.json:
        print(json.dumps({"seconds": times, "left_out": {k: r["left_out"] for k, r in rows.items() if k not in times}}))
    else:
        slowest = sorted(times.items(), key=lambda row: -row[1])[:20]
        print_table("first calls, slowest first", ("call", "CPU s"), [(key, f"{value:.3f}") for key, value in slowest])
        print(f"{len(times)} calls, {len(slow)} above {args.most:g} s; {len(rows) - len(times)} do not exist")
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
