"""Collectives other than rings: their schedules on a fabric, and which is the quickest there."""
