"""The simulator of serving, compiled: ``simulate`` handles all events on the arrays of ``layout.py``."""

from topoopt.inference.simulator.kernel.loop import simulate as simulate
