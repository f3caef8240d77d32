"""Flexible links as data: cross-sections, mode shapes, the integrals of the report, and arms that have such links."""
