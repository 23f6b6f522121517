"""``topoopt simulate``: its files, and the verb."""

from topoopt.cli.simulate.verb import simulate as simulate
