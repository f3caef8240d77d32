"""Configurations, forward kinematics and Jacobians."""
