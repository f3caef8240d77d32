"""Recursive Lagrange (document 004)."""
