"""``topoopt cluster``: the verbs about many jobs over time, one a file."""

from topoopt.frontends.cli.groups import CLUSTER_VERBS as CLUSTER_VERBS
from topoopt.frontends.cli.groups import cluster as cluster
