"""Whole closed-loop simulations, one or many."""
