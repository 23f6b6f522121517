"""How a simulator says how far it is."""

from collections.abc import Callable

Report = Callable[[float], None]
"""Told how much is done, from 0 to 1."""
