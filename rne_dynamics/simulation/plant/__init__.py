"""The simulated robot: plant, state, loops, bending, motion of the base."""
