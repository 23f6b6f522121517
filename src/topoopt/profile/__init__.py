"""Operators measured on real hardware."""
