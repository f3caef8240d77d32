"""Simulations step by step, their logs, drives and faults."""
