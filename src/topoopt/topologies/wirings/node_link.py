"""Node-link JSON as networkx and others write it: ``nodes`` with ``id``, ``edges`` or ``links`` with two ends."""

from collections.abc import Iterator, Mapping
from typing import Any

from topoopt.base.errors import InvalidInput, shown
from topoopt.topologies.wirings.foreign_graph import ForeignGraph, ForeignLink, ForeignNode, node_name

SYNTAX = "node-link JSON"
_KEYS = ("edges", "links")  # networkx 3.6 writes the first, and before that it was the second


def node_link_graph(content: Any) -> ForeignGraph:
    """Return the graph of parsed JSON; a bare list of pairs is one, too.

    Raises
    ------
    InvalidInput
        With the place in the document, such as ``edges[3]``, if there is no list of links or an end is missing.
    """
    if isinstance(content, list):
        return ForeignGraph(SYNTAX, (), tuple(_links(content, "")))
    if str(content.get("schema", "")).startswith("topoopt-plan/"):
        raise InvalidInput("is a plan; give the wiring file that topoopt topology writes of it")
    key = next((one for one in _KEYS if isinstance(content.get(one), list)), None)
    if key is None:
        raise InvalidInput("expected a list of links (edges or links), each with source and target")
    nodes, said, directed = content.get("nodes"), content.get("graph"), content.get("directed")
    return ForeignGraph(
        SYNTAX,
        tuple(_nodes(nodes)) if isinstance(nodes, list) else (),
        tuple(_links(content[key], key)),
        directed if isinstance(directed, bool) else None,
        _attributes(said),
        all_named=isinstance(nodes, list) and bool(nodes),
    )


def _nodes(rows: list[Any]) -> Iterator[ForeignNode]:
    for index, row in enumerate(rows):
        place = f"nodes[{index}]"
        if isinstance(row, Mapping) and "id" not in row and "name" not in row:
            raise InvalidInput(f"{place}: expected an id, got {shown(row)}")
        name = row.get("id", row.get("name")) if isinstance(row, Mapping) else row
        yield ForeignNode(place, node_name(name, place), row if isinstance(row, Mapping) else {})


def _links(rows: list[Any], key: str) -> Iterator[ForeignLink]:
    for index, given in enumerate(rows):
        place = f"{key}[{index}]"
        is_pair = isinstance(given, list) and len(given) in (2, 3)  # as of json.dump(list(graph.edges))
        row = {"source": given[0], "target": given[1]} if is_pair else given
        if not isinstance(row, Mapping) or not {"source", "target"} <= set(row):
            raise InvalidInput(f"{place}: expected source and target, got {shown(row)}")
        yield ForeignLink(place, (node_name(row["source"], place), node_name(row["target"], place)), row)


def _attributes(said: Any) -> Mapping[str, Any]:
    """Return the attributes of a graph, which old versions of networkx wrote as a list of pairs."""
    if isinstance(said, list):
        pairs = [pair for pair in said if isinstance(pair, list) and len(pair) == 2]
        return {str(name): value for name, value in pairs}
    return said if isinstance(said, Mapping) else {}
