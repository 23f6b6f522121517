"""The formats of graphs: the wiring as a multigraph that programs of graphs read."""

from topoopt.export.dot import dot
from topoopt.export.format import ExportFormat
from topoopt.export.graphml import graphml
from topoopt.export.node_link import node_link

GRAPH_FORMATS = (
    ExportFormat(
        "graphml",
        "the wiring as a multigraph: names, ports, panels, cables, bandwidth",
        "wiring.graphml",
        "topoopt, networkx, yEd, Gephi, igraph",
        graphml,
    ),
    ExportFormat(
        "node-link",
        "the same as node-link JSON",
        "wiring.json",
        "topoopt, networkx, D3",
        node_link,
    ),
    ExportFormat("dot", "the same as DOT, to be drawn", "wiring.dot", "topoopt, Graphviz", dot),
)
