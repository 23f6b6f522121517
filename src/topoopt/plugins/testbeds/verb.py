"""The verbs ``testbed``, as the list of verbs and ``import topoopt`` have them."""

from topoopt.base.plugins import PluginVerb

TESTBED = PluginVerb(
    "A plan on real Linux: network namespaces as servers, links at scaled bandwidths. Needs root.",
    "topoopt.plugins.testbeds.command:testbed",
    "topoopt.plugins.testbeds",
    ("testbed", "TestbedRun", "TestbedsAnswer"),
    after="export",
)
