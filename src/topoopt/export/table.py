"""The table of export formats: a new one is a file in this room and a row here."""

from collections.abc import Mapping
from types import MappingProxyType

from topoopt.export.cabling_formats import CABLING_FORMATS
from topoopt.export.chakra import chakra
from topoopt.export.format import ExportFormat

_ROWS = (
    *CABLING_FORMATS,
    ExportFormat(
        "chakra",
        "execution traces: what each server computes and sends in an iteration",
        "plan.RANK.et, comm_group.json",
        "topoopt simulate, ASTRA-sim and other readers of Chakra",
        chakra,
    ),
)

FORMATS: Mapping[str, ExportFormat] = MappingProxyType({row.name: row for row in _ROWS})
"""Every format by name, in the order of deploying a plan: fibers, servers, collectives, schedulers, simulators."""
