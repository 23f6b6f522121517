"""The verb ``reproduce``, as the list of verbs and ``import topoopt`` have it."""

from topoopt.base.plugins import PluginVerb

REPRODUCE = PluginVerb(
    "Make figures of the paper again: ours beside the published, rows and pictures in a folder.",
    "topoopt.plugins.papers.command:reproduce",
    "topoopt.plugins.papers",
    ("reproduce", "reproducible", "Figure", "figure_page", "overview_page", "write_figures_page"),
    after="report",
)
