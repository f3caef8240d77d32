"""Repairs of --lenient on standard error; not in `robot_argument`, whose imports take long."""

from __future__ import annotations

import argparse
import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def shown_repairs(args: argparse.Namespace) -> Iterator[None]:
    """While a command runs, print each repair of --lenient on standard error."""
    logger, handler = logging.getLogger("rne_dynamics.description.urdf"), logging.StreamHandler()
    if getattr(args, "lenient", False):
        logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
