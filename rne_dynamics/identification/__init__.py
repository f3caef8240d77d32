"""Inertial parameters, friction and rotors of an arm from recorded motion."""
