"""This package compared with its peers, from a checkout: `python benchmarks --help`."""

import sys

from comparison.command import main

sys.exit(main())
