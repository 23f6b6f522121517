"""The packet engine, compiled: ``advance`` serves events on the arrays of ``layout.py``."""

from topoopt.simulation.packet.kernel.loop import advance as advance
