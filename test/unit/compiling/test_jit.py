from __future__ import annotations

import subprocess
import sys

from rne_dynamics.advice import install

PROGRAM = """
import sys, warnings
sys.modules["llvmlite"] = None  # as where it is not installed: importing it raises ImportError
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import numpy as np
    from rne_dynamics.compiling.jit import COMPILED
    from rne_dynamics.dynamics.forward_dynamics import forward_dynamics
    from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics
    from rne_dynamics.model.assembly import assemble
    from analytic.systems import PlanarTwoLink
system = PlanarTwoLink()
robot = assemble(system.tree())
q, qd, qdd = np.random.default_rng(0).normal(size=(3, 2))
tau = inverse_dynamics(robot, q, qd, qdd)
assert not COMPILED
assert np.allclose(tau, system.efforts(q, qd, qdd), rtol=1e-12)
assert np.allclose(forward_dynamics(robot, q, qd, tau), qdd, rtol=1e-12)
warned = [str(w.message) for w in seen if "llvmlite" in str(w.message)]
assert len(warned) == 1, warned
print(warned[0])
"""


def test_without_llvmlite_the_kernels_run_as_plain_python_with_one_warning_that_says_how_much_slower():
    code = f"import sys; sys.path[:0] = {sys.path!r}\n" + PROGRAM
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "times slower" in done.stdout
    assert install("llvmlite", "python3-llvmlite") in done.stdout
