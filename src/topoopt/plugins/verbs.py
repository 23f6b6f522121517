"""Verbs of the plug-ins that come with topoopt, for the list of verbs and ``import topoopt``."""

from topoopt.base.plugins import PluginVerb

EXPORT = PluginVerb(
    "Export a plan: patch lists, server and switch configurations, and inputs of other programs.",
    "topoopt.plugins.exports.command:export",
    "topoopt.plugins.exports",
    ("export", "export_formats", "ExportAnswer", "ExportFormats"),
    after="interleave",
)
TESTBED = PluginVerb(
    "A plan on real Linux: network namespaces as servers, links at scaled bandwidths. Needs root.",
    "topoopt.plugins.testbeds.command:testbed",
    "topoopt.plugins.testbeds",
    ("testbed", "TestbedRun", "TestbedsAnswer"),
    after="export",
)
REPRODUCE = PluginVerb(
    "Reproduce figures of the paper: our values beside the published ones, as rows and pictures.",
    "topoopt.plugins.papers.command:reproduce",
    "topoopt.plugins.papers",
    ("reproduce", "reproducible", "Figure", "figure_page", "overview_page", "write_figures_page"),
    after="report",
)
PROFILE = PluginVerb(
    "Measure a model's operators on this machine, at every split size that the search may choose.",
    "topoopt.plugins.profiling.command:profile",
    "topoopt.plugins.profiling",
    ("profile", "profile_subject"),
    after="reproduce",
)
