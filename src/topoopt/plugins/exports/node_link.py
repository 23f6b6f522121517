"""Node-link JSON of a plan's wiring, as networkx 3.4 and later read it without a word."""

import json

from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.graph import wired_graph


def node_link(deployment: Deployment) -> Contents:
    """Return the wiring as JSON, a node or an edge on a line."""
    graph = wired_graph(deployment)
    nodes = [{"id": name, **says} for name, says in graph.nodes]
    edges = [{"source": a, "target": b, "key": key, **says} for a, b, key, says in graph.links]
    parts = (
        f' "directed": {json.dumps(graph.directed)}',
        ' "multigraph": true',
        f' "graph": {json.dumps(graph.says)}',
        *(
            f' "{name}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]"
            for name, rows in (("nodes", nodes), ("edges", edges))
        ),
    )
    return {"wiring.json": "{\n" + ",\n".join(parts) + "\n}\n"}
