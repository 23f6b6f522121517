"""DOT of a plan's wiring, which Graphviz draws."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from topoopt.base.units import format_bandwidth
from topoopt.plans import plan_wiring
from topoopt.plugins.exports.deployment import Contents, Deployment
from topoopt.topologies.wirings import EXPORTED, PortedLinks, wiring_attributes

Attributes = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WiredGraph:
    """Contents of a graph file.

    Attributes
    ----------
    says : mapping
        Attributes of the whole graph in a wiring file.
    nodes : tuple of (name, attributes)
        Nodes in the order of ranks.
    links : tuple of (name of the source, of the target, key, attributes)
        Links; the key counts parallel cables.
    """

    directed: bool
    says: Attributes
    nodes: tuple[tuple[str, Attributes], ...]
    links: tuple[tuple[str, str, int, Attributes], ...]


_TYPES = {bool: "boolean", int: "long", float: "double", str: "string"}
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
"""


def dot(deployment: Deployment) -> Contents:
    """Return the wiring as a graph, or as a digraph for directed fibers; racks are in boxes of their own."""
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
    text = str(value).replace('"', '\\"')
    return f'"{text}"'


def graphml(deployment: Deployment) -> Contents:
    """Return the wiring as GraphML; lists and mappings, as rings are, as JSON in a string."""
    graph = wired_graph(deployment)
    says = {name: flat(value) for name, value in graph.says.items()}
    groups: tuple[tuple[str, list[Attributes]], ...] = (
        ("graph", [says]),
        ("node", [row for _, row in graph.nodes]),
        ("edge", [row for _, _, _, row in graph.links]),
    )
    keys = {
        (kind, name): f"{kind[0]}{index}" for kind, rows in groups for index, name in enumerate(_names(rows))
    }
    types = {(kind, name): _TYPES[type(row[name])] for kind, rows in groups for row in rows for name in row}
    lines = [
        f' <key id="{key}" for="{kind}" attr.name={quoteattr(name)} attr.type="{types[kind, name]}"/>'
        for (kind, name), key in keys.items()
    ]
    lines.append(f' <graph edgedefault="{"directed" if graph.directed else "undirected"}">')
    lines += _data(says, "graph", keys, "  ")
    for name, row in graph.nodes:
        lines += [f"  <node id={quoteattr(name)}>", *_data(row, "node", keys, "   "), "  </node>"]
    for a, b, key, row in graph.links:
        lines.append(f'  <edge source={quoteattr(a)} target={quoteattr(b)} id="{key}">')
        lines += [*_data(row, "edge", keys, "   "), "  </edge>"]
    return {"wiring.graphml": _HEAD + "\n".join([*lines, " </graph>", "</graphml>", ""])}


def flat(value: Any) -> Any:
    """Return a value that every syntax supports: text or a number; others as JSON."""
    return value if type(value) in _TYPES else json.dumps(value)


def _names(rows: Iterable[Attributes]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _data(row: Attributes, kind: str, keys: dict[tuple[str, str], str], indent: str) -> Iterator[str]:
    for name, value in row.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        yield f'{indent}<data key="{keys[kind, name]}">{escape(text)}</data>'


def node_link(deployment: Deployment) -> Contents:
    """Return the wiring as JSON, a node or an edge on a line: ``edges`` for networkx from 3.6 on, ``links`` for D3 and
    older ones, the same list.
    """
    graph = wired_graph(deployment)
    nodes = [{"id": name, **says} for name, says in graph.nodes]
    edges = [{"source": a, "target": b, "key": key, **says} for a, b, key, says in graph.links]
    parts = (
        f' "directed": {json.dumps(graph.directed)}',
        ' "multigraph": true',
        f' "graph": {json.dumps(graph.says)}',
        *(
            f' "{name}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]"
            for name, rows in (("nodes", nodes), ("edges", edges), ("links", edges))
        ),
    )
    return {"wiring.json": "{\n" + ",\n".join(parts) + "\n}\n"}


def wired_graph(deployment: Deployment) -> WiredGraph:
    """Return the wiring of a deployment in the inventory's names."""
    wiring, plan, patches = deployment.wiring, deployment.plan, deployment.wiring.patches
    rows = [(one.src, one.src_interface, one.dst, one.dst_interface) for one in patches]
    table = np.array(rows, np.int64).reshape(-1, 4)
    ports = PortedLinks(table[:, 0], table[:, 1], table[:, 2], table[:, 3], wiring.interfaces_per_panel)
    servers = deployment.inventory.servers[: plan.fabric.topology.servers]
    says = {**wiring_attributes(plan_wiring(plan), ports), "format": EXPORTED, "name": plan.job.name}
    nodes = tuple(
        (server.name, {"number": number, "rack": server.rack, "position": server.position})
        for number, server in enumerate(servers)
    )
    return WiredGraph(wiring.links == "directed", says, nodes, tuple(_links(deployment)))


def _links(deployment: Deployment) -> list[tuple[str, str, int, Attributes]]:
    cluster, found = deployment.plan.job.cluster, list[tuple[str, str, int, Attributes]]()
    count: dict[tuple[str, str], int] = {}
    for patch, circuit in zip(deployment.wiring.patches, deployment.circuits, strict=True):
        a, b = circuit.cable_a, circuit.cable_b
        key = count.get((a.server, b.server), 0)
        count[a.server, b.server] = key + 1
        says = {
            "source_port": patch.src_interface,
            "target_port": patch.dst_interface,
            "source_interface": a.interface,
            "target_interface": b.interface,
            "bandwidth_bps": float(cluster.link_bandwidth_bps),
            "latency_s": float(cluster.link_latency_s),
            "circuit": circuit.id,
            "panel": circuit.panel,
            "panel_port_a": circuit.port_a,
            "panel_port_b": circuit.port_b,
            "cable_a": a.id,
            "cable_b": b.id,
        }
        found.append((a.server, b.server, key, says))
    return found
