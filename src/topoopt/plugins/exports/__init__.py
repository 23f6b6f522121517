"""A plan as files for people and devices: patch lists, and configurations of servers and switches."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:  # the list of verbs needs none of it
    from topoopt.plugins.exports.answer import ExportAnswer as ExportAnswer
    from topoopt.plugins.exports.answer import ExportedFormat as ExportedFormat
    from topoopt.plugins.exports.answer import ExportFormats as ExportFormats
    from topoopt.plugins.exports.answer import Refused as Refused
    from topoopt.plugins.exports.deployment import Contents as Contents
    from topoopt.plugins.exports.deployment import Deployment as Deployment
    from topoopt.plugins.exports.deployment import ExportFormat as ExportFormat
    from topoopt.plugins.exports.deployment import deployment as deployment
    from topoopt.plugins.exports.export import export as export
    from topoopt.plugins.exports.export import export_formats as export_formats
    from topoopt.plugins.exports.table import FORMATS as FORMATS

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
