"""``topoopt cluster``: the verbs about many jobs over time, one a file."""

from topoopt.frontends.cli.cluster.group import CLUSTER_VERBS as CLUSTER_VERBS
from topoopt.frontends.cli.cluster.group import cluster as cluster
