"""Recursive Newton–Euler: inverse dynamics, gravity, joint reactions."""
