"""Many jobs over time, on shards of their own or on a fabric that they share."""

from topoopt.frontends.verbs.cluster.run import run as run
