"""``topoopt simulate``: its files, and the verb."""

from topoopt.frontends.cli.simulate.verb import simulate as simulate
