"""Simulated arms for the tests of `rne send`, `rne stop` and `rne state`, in a ROS domain of their own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml
from support.frozen import freezable

from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

from .peer import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
#: No other test uses it: `rne stop` stops every controller that it finds. Up to 101, above which ports are others'.
DOMAIN = {"ROS_DOMAIN_ID": str((int(os.environ["ROS_DOMAIN_ID"]) + 50) % 102)}
LEFT = "/left/computed_torque_controller"
#: In lock-step, so that a busy computer slows the arm down and changes nothing else.
SIMULATOR = {"robot_description": "planar2", "rate": 100.0, "publish_clock": True, "lockstep": True,
             "lockstep_timeout": 60.0, "on_command_timeout": "brake"}
CONTROLLER = {
    "robot_description": "planar2", "use_sim_time": True, "diagnostics_period": 0.5,
    "startup_check": {"duration": 0.1}, "start": {"ramp_time": 0.1},
    "stop": {"brake_time": 0.1, "hold_time": 0.1, "ramp_time": 0.1},
    "limits": {"joint1": {"position_margin": 0.1}},
    "gains": {j: {"p": 400.0, "d": 40.0} for j in ("joint1", "joint2")},
}


@contextlib.contextmanager
def arm(
    folder: Path, namespace: str, controller: str = "computed_torque_controller", remapped: tuple[str, ...] = ()
) -> Iterator[list[NodeProcess]]:
    """A simulator and a controller that holds the arm."""
    with contextlib.ExitStack() as stack:
        processes = []
        floats = controller == "gravity_compensation"
        own = {name: value for name, value in CONTROLLER.items() if not (floats and name == "gains")}
        for module, parameters in (("simulator", SIMULATOR), (controller, own)):
            file = folder / f"{namespace.strip('/')}_{module}.yaml"
            file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
            ros = ["--ros-args", "--params-file", str(file), "-r", f"__ns:={namespace}"]
            ros += ["-r", f"/clock:={namespace}/clock", *(word for rule in remapped for word in ("-r", rule))]
            processes.append(stack.enter_context(freezable(module, ros, folder, DOMAIN)))
        wait_until(lambda: all("ready: " in p.output() for p in processes), PATIENCE, "both nodes", processes)
        wait_until(lambda: "holding" in processes[1].output(), PATIENCE, "the arm to be held", processes)
        yield processes


def rne(*words: str, first: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """The command in a process; `first`: folder in which modules are searched before all others."""
    return subprocess.run(
        [sys.executable, "-m", "rne_dynamics.cli.main", *words], check=False, capture_output=True, text=True,
        timeout=200, env={**os.environ, "PYTHONPATH": f"{first}:{ROOT}"},
    )
