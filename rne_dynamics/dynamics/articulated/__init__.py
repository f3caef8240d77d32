"""Articulated bodies: Nasser's O(n) forward dynamics (document 000)."""
