"""Equations of motion in operator form (document 001, section 4.8)."""
