"""A plan on real Linux: network namespaces as servers, with links of their own."""

from topoopt.frontends.verbs.testbed.down import down as down
from topoopt.frontends.verbs.testbed.run import run as run
from topoopt.frontends.verbs.testbed.share import share as share
from topoopt.frontends.verbs.testbed.status import status as status
from topoopt.frontends.verbs.testbed.up import up as up
