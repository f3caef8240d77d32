"""The console script `rne`: Ctrl-C while the commands are still imported ends with a line, not with a traceback."""

import sys


def main() -> int:
    """Import and run `rne_dynamics.cli.main`, and return its exit code."""
    try:
        from rne_dynamics.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        print("rne: stopped", file=sys.stderr)
        return 130
