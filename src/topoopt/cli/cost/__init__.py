"""``topoopt cost``: its flags, and the verb."""

from topoopt.cli.cost.verb import cost as cost
