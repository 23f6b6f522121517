"""``topoopt testbed``: the group of verbs about a plan on real Linux."""

from collections.abc import Mapping
from types import MappingProxyType

from topoopt.frontends.cli.verbs import group

TESTBED_VERBS: Mapping[str, str] = MappingProxyType(
    {
        "up": "Put a plan's network up on this machine: a namespace a server, a veth pair a link, the plan's routes.",
        "run": "Train on a plan's network and on switches on this machine: real PyTorch, beside the simulators.",
        "share": "Let training jobs share a link of this machine under reno, cubic and MLTCP in the kernel, timed.",
        "status": "List the testbeds of this machine: those that stand, are in use, or were left over.",
        "down": "Remove testbeds: namespaces with all links and routes, processes inside, and nothing else.",
    }
)
"""The verbs of the group."""

testbed = group(
    "topoopt.frontends.cli.testbed",
    TESTBED_VERBS,
    "A plan on real Linux: network namespaces as servers, links at scaled bandwidths. Needs root.",
)
