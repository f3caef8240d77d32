"""ROS 2 nodes. The only package that imports rclpy, apart from `faults`."""

import gc
import os
import warnings

from rne_dynamics.interrupted import end_when_interrupted, executable

#: Names of the executables.
EXECUTABLES = (
    "computed_torque_controller", "gravity_compensation", "effort_gate", "simulator", "move", "viewer", "recorder",
)
if executable(EXECUTABLES, __name__):
    end_when_interrupted()  # until `StopSignal` takes over
    gc.disable()  # until `process.settle`: in what is imported it finds nothing, in 0.05 s of CPU time

# llvmlite is missing: nodes log it instead, once, in `process.run`
warnings.filterwarnings("ignore", message=".*the dynamics kernels run as plain Python", category=RuntimeWarning)

# An arm's matrices are too small for several threads of BLAS. Making them, when numpy is imported, takes 0.03 s of CPU
# time of each start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
