"""``topoopt testbed``: the verbs about a plan on real Linux, one a file."""

from topoopt.frontends.cli.groups import TESTBED_VERBS as TESTBED_VERBS
from topoopt.frontends.cli.groups import testbed as testbed
