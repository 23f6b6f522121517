"""How a simulator says how far it is."""

from collections.abc import Callable

Report = Callable[[float], None]
"""Told the share of tasks that are done, from 0 to 1."""
