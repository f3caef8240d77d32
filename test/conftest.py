"""What every test shares: the checkout's root, and an environment that does not reach outside the machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# before rclpy is imported anywhere: one domain for each test process, and no discovery beyond this machine
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("ROS_DOMAIN_ID", str(os.getpid() % 91 + 10))


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return Path(__file__).resolve().parents[1]
