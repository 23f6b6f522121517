"""The verb ``export``, as the list of verbs and ``import topoopt`` have it."""

from topoopt.base.plugins import PluginVerb

EXPORT = PluginVerb(
    "Write a plan as files: what is patched where, and what servers, switches and other programs are told.",
    "topoopt.plugins.exports.command:export",
    "topoopt.plugins.exports",
    ("export", "export_formats", "ExportAnswer", "ExportFormats"),
    after="interleave",
)
