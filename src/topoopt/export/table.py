"""The table of export formats: a new one is a file in this room and a row here."""

from collections.abc import Mapping
from types import MappingProxyType

from topoopt.export.chakra import chakra
from topoopt.export.format import ExportFormat
from topoopt.export.inventory_file import inventory_file
from topoopt.export.patch_list import patch_list

_ROWS = (
    ExportFormat(
        "inventory",
        "which server, interface, panel, port and cable is which, to be edited and given back",
        "inventory.yaml",
        "topoopt, and people",
        inventory_file,
    ),
    ExportFormat(
        "patch-list",
        "which panel ports are joined, and in which order to change them",
        "patch-list.csv",
        "people, scripts and robots at any patch panel",
        patch_list,
    ),
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
