"""MLTCP: jobs on one link that find their interleaving by themselves, beside other ways of sharing it."""

from topoopt.frontends.verbs.mltcp.simulate import simulate as simulate
