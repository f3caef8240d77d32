"""The console script `rne`: Ctrl-C at any time, also while commands are imported, ends with a line and 130."""

import sys

from rne_dynamics.cli.interrupt import ended, note_interrupts, noted, report


def main() -> int:
    """Import and run `rne_dynamics.cli.main`, and return its exit code."""
    try:
        note_interrupts()
        from rne_dynamics.cli.main import main as run

        return ended(run())
    except KeyboardInterrupt:
        return ended(report("rne"))
    except SystemExit as end:
        return ended(end.code if isinstance(end.code, int) else 1)
    except Exception:
        if not noted():
            raise
        return ended(report("rne"))  # an import that was cut short


if __name__ == "__main__":
    sys.exit(main())
