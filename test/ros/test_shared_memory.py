"""Where Fast DDS uses shared memory, in which a killed process may keep a lock: docs/troubleshooting.md."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

#: Prints whether a node of this process has mapped a segment of the middleware.
PROGRAM = """
import rclpy
rclpy.init()
node = rclpy.create_node("looked_at")
print("/dev/shm/fast" in open("/proc/self/maps").read())
"""


@pytest.mark.parametrize(("settings", "used"), [
    ({}, False),  # of all other tests
    ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}, True),
    ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}, True),
    ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}, False),  # as docs say
], ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else None)  # fmt: skip
def test_shared_memory_is_used_where_the_documentation_says(settings, used):
    environment = {name: value for name, value in os.environ.items() if not (settings and "PROFILES_FILE" in name)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=180,
        env={**environment, **settings},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == str(used)
