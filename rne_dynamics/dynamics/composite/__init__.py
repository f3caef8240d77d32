"""Composite rigid bodies: mass matrix, momentum, energy, and forward dynamics by Walker and Orin."""
