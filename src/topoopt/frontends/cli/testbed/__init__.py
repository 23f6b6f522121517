"""``topoopt testbed``: the verbs about a plan on real Linux, one a file."""

from topoopt.frontends.cli.testbed.group import TESTBED_VERBS as TESTBED_VERBS
from topoopt.frontends.cli.testbed.group import testbed as testbed
