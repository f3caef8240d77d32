"""Derivatives, Coriolis matrix and regressor from the motion of all bodies in the base frame."""
