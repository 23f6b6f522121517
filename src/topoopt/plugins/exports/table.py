"""The table of export formats: a new one is a file in this room and a row here."""

from collections.abc import Mapping
from types import MappingProxyType

from topoopt.plugins.exports.cabling_formats import CABLING_FORMATS
from topoopt.plugins.exports.format import ExportFormat
from topoopt.plugins.exports.forwarding_formats import FORWARDING_FORMATS
from topoopt.plugins.exports.graph_formats import GRAPH_FORMATS
from topoopt.plugins.exports.training_formats import TRAINING_FORMATS

_ROWS = (
    *CABLING_FORMATS,
    *GRAPH_FORMATS,
    *FORWARDING_FORMATS,
    *TRAINING_FORMATS,
)

FORMATS: Mapping[str, ExportFormat] = MappingProxyType({row.name: row for row in _ROWS})
"""Every format by name, in the order of deploying a plan: fibers, graphs, servers, collectives, schedulers."""
