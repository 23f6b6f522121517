"""In which syntax a graph file is written, by what stands in it: GraphML, DOT, node-link JSON, or a list of links."""

import re
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.topologies.wirings.csv_links import listed_graph
from topoopt.topologies.wirings.dot import dot_graph
from topoopt.topologies.wirings.foreign_graph import ForeignGraph
from topoopt.topologies.wirings.graphml import graphml_graph
from topoopt.topologies.wirings.node_link import node_link_graph

_REMARKS = r"(?:\s+|//[^\n]*\n|/\*.*?\*/|\#[^\n]*\n)*"
_DOT = re.compile(
    rf"{_REMARKS}(?:strict\s+)?(?:di)?graph\b[^\[\]\n]*\s*\{{|{_REMARKS}(?:strict\s+)?(?:di)?graph\s*\{{",
    re.DOTALL | re.IGNORECASE,
)
_GML = re.compile(r"\s*(?:Creator\b[^\n]*\n\s*)?graph\s*\[", re.IGNORECASE)
_DOT_FILES = (".dot", ".gv")


def foreign_graph(text: str, document: Any, path: str | Path = "") -> ForeignGraph:
    """Return the nodes and links of a graph file.

    Parameters
    ----------
    document
        What it says as JSON; None where it is none.

    Raises
    ------
    InvalidInput
        With the line, or the place in JSON, as the readers of each syntax say it; for a syntax that is not read.
    """
    if document is not None:
        return node_link_graph(document)
    if text.lstrip().startswith("<"):
        return graphml_graph(text)
    if Path(path).suffix.lower() in _DOT_FILES or _DOT.match(text):
        return dot_graph(text)
    if _GML.match(text):
        raise InvalidInput(
            "looks like GML, which is not read; write GraphML, such as with networkx.write_graphml"
        )
    return listed_graph(text)
