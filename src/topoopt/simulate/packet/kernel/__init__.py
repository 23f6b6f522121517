"""The packet engine, compiled: ``advance`` serves events on the arrays of ``layout.py``."""

from topoopt.simulate.packet.kernel.loop import advance as advance
