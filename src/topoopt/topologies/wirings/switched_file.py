"""Graph files with switches, as topologies: of accelerators, or of whole servers."""

from pathlib import Path

from topoopt.base.errors import InvalidInput
from topoopt.catalog import DEFAULT_LATENCY_S
from topoopt.schema.files import parse_json, read_text, with_line
from topoopt.topologies.topology import Topology
from topoopt.topologies.wirings.file import foreign_graph
from topoopt.topologies.wirings.foreign_graph import ForeignGraph
from topoopt.topologies.wirings.switched_graph import of_whole_servers, switched_topology


def read_switched_graph(path: str | Path, usual_bps: float) -> Topology | None:
    """Return the accelerators and switches of a graph file; None for one without switches, and for other files.

    Raises
    ------
    InvalidInput
        As ``switched_topology``, with the name of the file.
    """
    try:
        graph = _graph_of_file(path)
    except InvalidInput:
        return None  # read_wiring_file says why
    return _switched(graph, path, usual_bps)


def read_fabric_graph(path: str | Path, usual_bps: float) -> Topology | None:
    """Return the servers and switches of a graph file; None for one without switches.

    Accelerators that say they are of one ``server`` are one node, without the switches inside it.

    Raises
    ------
    InvalidInput
        In one line, with file and line, if it is no graph file, and as ``switched_topology``.
    """
    return _switched(of_whole_servers(_graph_of_file(path)), path, usual_bps)


def _graph_of_file(path: str | Path) -> ForeignGraph:
    text, place = read_text(path), str(path)
    try:
        document = parse_json(text, place, foreign=True) if text.lstrip().startswith(("{", "[")) else None
        return foreign_graph(text, document, path)
    except InvalidInput as error:
        raise InvalidInput(with_line(str(error), text, place)) from None


def _switched(graph: ForeignGraph, path: str | Path, usual_bps: float) -> Topology | None:
    try:
        return switched_topology(graph, usual_bps, DEFAULT_LATENCY_S)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
