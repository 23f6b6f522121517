"""The verb ``profile``, as the list of verbs and ``import topoopt`` have it."""

from topoopt.base.plugins import PluginVerb

PROFILE = PluginVerb(
    "Measure a model's operators here, at every split size that a search may choose.",
    "topoopt.plugins.profiling.command:profile",
    "topoopt.plugins.profiling",
    ("profile", "profile_subject"),
    after="reproduce",
)
