"""The formats of graphs: the wiring as a multigraph that programs of graphs read."""

from topoopt.plugins.exports.dot import dot
from topoopt.plugins.exports.format import ExportFormat
from topoopt.plugins.exports.graphml import graphml
from topoopt.plugins.exports.node_link import node_link

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
