"""Free bodies in maximal coordinates and their differential-algebraic equations (document 001)."""
