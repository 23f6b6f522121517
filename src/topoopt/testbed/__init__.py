"""A plan on real Linux: servers are network namespaces, training is real PyTorch, and both are measured."""

from topoopt.testbed.answer import TestbedsAnswer as TestbedsAnswer
from topoopt.testbed.emulated import EMULATED as EMULATED
from topoopt.testbed.emulated import PAPER_CLUSTER as PAPER_CLUSTER
from topoopt.testbed.emulated import emulated as emulated
from topoopt.testbed.emulated import paper_fabric as paper_fabric
from topoopt.testbed.standing import listed as listed
from topoopt.testbed.standing import put_up as put_up
from topoopt.testbed.standing import take_down as take_down
