"""The verbs of the plug-ins that come with topoopt, as the list of verbs and ``import topoopt`` have them."""

from topoopt.base.plugins import PluginVerb

EXPORT = PluginVerb(
    "Write a plan as files: what is patched where, and what servers, switches and other programs are told.",
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
    "Make figures of the paper again: ours beside the published, rows and pictures in a folder.",
    "topoopt.plugins.papers.command:reproduce",
    "topoopt.plugins.papers",
    ("reproduce", "reproducible", "Figure", "figure_page", "overview_page", "write_figures_page"),
    after="report",
)
PROFILE = PluginVerb(
    "Measure a model's operators here, at every split size that a search may choose.",
    "topoopt.plugins.profiling.command:profile",
    "topoopt.plugins.profiling",
    ("profile", "profile_subject"),
    after="reproduce",
)
