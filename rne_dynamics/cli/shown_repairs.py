"""Repairs of --lenient on standard error; apart from the ROBOT argument, which brings rich along."""

from __future__ import annotations

import argparse
import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def shown_repairs(args: argparse.Namespace) -> Iterator[None]:
    """Print what --lenient repairs, line by line, on standard error while a command runs."""
    logger, handler = logging.getLogger("rne_dynamics.description.urdf"), logging.StreamHandler()
    if getattr(args, "lenient", False):
        logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
