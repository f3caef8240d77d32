"""The console script `rne`: Ctrl-C at any time, also while commands are imported, ends with a line and 130."""

from rne_dynamics.cli.interrupt import note_interrupts, noted, only_note, report


def main() -> int:
    """Import and run `rne_dynamics.cli.main`, and return its exit code."""
    try:
        note_interrupts()
        from rne_dynamics.cli.main import main as run

        code = run()
        only_note()
    except KeyboardInterrupt:
        return report("rne")
    except Exception:
        if not noted():
            raise
        return report("rne")  # an import that was cut short
    return code
