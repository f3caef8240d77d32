"""The cache of compiled kernels never outlives a change of what they are made of."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import rne_dynamics

PROGRAM = """
import numpy as np
from rne_dynamics.spatial.norms import total
print(total(np.arange(4.0)), sum(total.stats.cache_hits.values()))
"""
KERNEL = """
from rne_dynamics.spatial.jit import kernel
from rne_dynamics.spatial.twice import twice

@kernel
def total(a):
    s = 0.0
    for k in range(a.shape[0]):
        s += twice(a[k])
    return s
"""
HELPER = """
from rne_dynamics.spatial.jit import helper

@helper
def twice(x):
    return {factor} * x
"""


def run(folder: Path) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_change_in_a_helpers_file_reaches_the_kernels_of_other_files(tmp_path):
    package = tmp_path / "rne_dynamics"
    (package / "spatial").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "spatial" / "__init__.py").touch()
    shutil.copy(Path(rne_dynamics.__file__).parent / "spatial" / "jit.py", package / "spatial")
    (package / "spatial" / "norms.py").write_text(KERNEL)
    helper = package / "spatial" / "twice.py"
    helper.write_text(HELPER.format(factor="2.0"))
    assert run(tmp_path) == ["12.0", "0"]
    assert run(tmp_path) == ["12.0", "1"], "the second process finds the machine code of the first"
    time.sleep(0.01)
    helper.write_text(HELPER.format(factor="3.0"))
    assert run(tmp_path) == ["18.0", "0"]
