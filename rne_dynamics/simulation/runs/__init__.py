"""Simulations step by step, their logs and drives."""
