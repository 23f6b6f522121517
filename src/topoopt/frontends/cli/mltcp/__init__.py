"""``topoopt mltcp``: the verbs about congestion control that interleaves jobs, one a file."""

from topoopt.frontends.cli.groups import MLTCP_VERBS as MLTCP_VERBS
from topoopt.frontends.cli.groups import mltcp as mltcp
