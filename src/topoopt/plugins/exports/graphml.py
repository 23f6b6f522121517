"""GraphML of a plan's wiring, with declared keys, for networkx, yEd, Gephi and igraph."""

import json
from collections.abc import Iterable, Iterator
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.graph import Attributes, wired_graph

_TYPES = {bool: "boolean", int: "long", float: "double", str: "string"}
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
"""


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
    """Return a value that every syntax has: text or a number, of all else JSON."""
    return value if type(value) in _TYPES else json.dumps(value)


def _names(rows: Iterable[Attributes]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _data(row: Attributes, kind: str, keys: dict[tuple[str, str], str], indent: str) -> Iterator[str]:
    for name, value in row.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        yield f'{indent}<data key="{keys[kind, name]}">{escape(text)}</data>'
