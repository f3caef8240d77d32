"""A loop in C++ (cpp_loop.cpp) that calls the dynamics of a PUMA 560 by address: compiled, run and timed."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import rne_dynamics as rne

SOURCE = Path(__file__).with_suffix(".cpp")


def main() -> None:
    """Move the arm for ten thousand milliseconds."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise SystemExit("no C++ compiler (g++, c++) was found: sudo apt install g++")
    robot = rne.load_urdf("puma560")
    inverse_dynamics = rne.c_function(robot, "inverse_dynamics")
    forward_dynamics = rne.c_function(robot, "forward_dynamics")
    q, qd, goal = np.zeros(robot.nq), np.zeros(robot.n), np.array([0.5, -0.8, 1.2, 0.3, 0.6, -0.4])
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "cpp_loop.so"
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", str(SOURCE), "-o", str(library)], check=True)
        reach = ctypes.CDLL(str(library)).reach
        pointers = [np.ctypeslib.as_ctypes(x) for x in (q, qd, goal)]
        addresses = ctypes.c_void_p(inverse_dynamics.address), ctypes.c_void_p(forward_dynamics.address)
        start = time.perf_counter()
        status = reach(*addresses, robot.n, *pointers, 10_000, ctypes.c_double(1e-3))
        took = time.perf_counter() - start
    if status != 0:
        raise SystemExit(f"the loop stopped with status {status}")
    print(f"10 s of the arm in {1e3 * took:.1f} ms; {np.abs(goal - q).max():.1e} rad from its goal")


if __name__ == "__main__":
    main()
