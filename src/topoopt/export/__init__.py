"""A plan as files that people and machines take: who plugs what where, and what servers and switches are told."""

from topoopt.export.answer import ExportAnswer as ExportAnswer
from topoopt.export.answer import ExportedFormat as ExportedFormat
from topoopt.export.answer import ExportFormats as ExportFormats
from topoopt.export.answer import Refused as Refused
from topoopt.export.deployment import Deployment as Deployment
from topoopt.export.deployment import deployment as deployment
from topoopt.export.format import Contents as Contents
from topoopt.export.format import ExportFormat as ExportFormat
from topoopt.export.table import FORMATS as FORMATS
from topoopt.export.written import exported as exported
