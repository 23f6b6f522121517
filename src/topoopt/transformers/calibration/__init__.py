"""Calibrations: what they hold, where they come from, how they are fitted."""
