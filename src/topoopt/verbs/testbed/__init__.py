"""A plan on real Linux: network namespaces as servers, with links of their own."""

from topoopt.verbs.testbed.down import down as down
from topoopt.verbs.testbed.run import run as run
from topoopt.verbs.testbed.share import share as share
from topoopt.verbs.testbed.status import status as status
from topoopt.verbs.testbed.up import up as up
