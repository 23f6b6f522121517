"""``topoopt mltcp``: the verbs about congestion control that interleaves jobs, one a file."""

from topoopt.frontends.cli.mltcp.group import MLTCP_VERBS as MLTCP_VERBS
from topoopt.frontends.cli.mltcp.group import mltcp as mltcp
