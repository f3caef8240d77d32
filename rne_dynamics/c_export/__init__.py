"""Straight-line programs as C99: `rne export --language c`."""
