"""A plan as files that people and machines take: who plugs what where, and what servers and switches are told."""

from topoopt.plugins.exports.answer import ExportAnswer as ExportAnswer
from topoopt.plugins.exports.answer import ExportedFormat as ExportedFormat
from topoopt.plugins.exports.answer import ExportFormats as ExportFormats
from topoopt.plugins.exports.answer import Refused as Refused
from topoopt.plugins.exports.answer import exported as exported
from topoopt.plugins.exports.deployment import Contents as Contents
from topoopt.plugins.exports.deployment import Deployment as Deployment
from topoopt.plugins.exports.deployment import ExportFormat as ExportFormat
from topoopt.plugins.exports.deployment import deployment as deployment
from topoopt.plugins.exports.table import FORMATS as FORMATS
