"""Numbers beyond which a simulation could not count: a packet's times are 64 bits of picoseconds."""

MOST_SERVERS = 100_000
MOST_DELAY_S = 1_000
"""Of a hop, a change of circuits and a timeout."""
MOST_MOMENT_S = 1_000_000
