"""ROS 2 nodes. The only package that imports rclpy, apart from `faults`."""

import warnings

# numba is missing: nodes log it instead, once, in `process.run`
warnings.filterwarnings("ignore", message=".*the dynamics kernels run as plain Python", category=RuntimeWarning)
