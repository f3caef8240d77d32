"""Robot arm dynamics by recursive Newton–Euler, control and simulation."""

__version__ = "0.1.0"
