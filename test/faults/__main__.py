"""The fault campaign from a checkout: `python test/faults --help`."""

import sys
from importlib import import_module
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # where the package `faults` is found
sys.exit(import_module("faults.command").main())
