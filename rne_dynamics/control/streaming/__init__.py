"""Setpoints that arrive one at a time, followed within limits of position, velocity, acceleration and jerk."""
