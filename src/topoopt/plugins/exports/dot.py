"""DOT of a plan's wiring, which Graphviz draws."""

from collections.abc import Mapping
from typing import Any

from topoopt.base.units import format_bandwidth
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.graph import wired_graph
from topoopt.plugins.exports.graphml import flat


def dot(deployment: Deployment) -> Contents:
    """Return the wiring as a graph, or of fibers one way as a digraph; racks are in boxes of their own."""
    graph = wired_graph(deployment)
    sign = "->" if graph.directed else "--"
    lines = [f"{'digraph' if graph.directed else 'graph'} {_quoted(graph.says['name'])} {{"]
    lines += [f"  {name} = {_quoted(flat(value))};" for name, value in graph.says.items() if name != "name"]
    lines.append("  node [shape=box];")
    for name, says in graph.nodes:
        lines.append(f"  {_quoted(name)} [{_listed(says)}];")
    for a, b, key, says in graph.links:
        row = {"key": key, "bw": format_bandwidth(says["bandwidth_bps"]).replace(" ", ""), **says}
        lines.append(f"  {_quoted(a)} {sign} {_quoted(b)} [{_listed(row)}];")
    return {"wiring.dot": "\n".join([*lines, "}", ""])}


def _listed(says: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_quoted(value)}" for name, value in says.items())


def _quoted(value: Any) -> str:
    """Return a value in quotes, in which only quotes need a backslash."""
    text = str(value).replace('"', '\\"')
    return f'"{text}"'
