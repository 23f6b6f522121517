"""A plan on real Linux: network namespaces as servers, with links of their own."""

from topoopt.plugins.testbeds.testbed.run import run as run
from topoopt.plugins.testbeds.testbed.share import share as share
from topoopt.plugins.testbeds.testbed.standing import down as down
from topoopt.plugins.testbeds.testbed.standing import status as status
from topoopt.plugins.testbeds.testbed.standing import up as up
