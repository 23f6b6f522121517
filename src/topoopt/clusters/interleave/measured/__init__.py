"""Profiles from what was measured: the bytes of a link over time, their period, and the phases within it."""
