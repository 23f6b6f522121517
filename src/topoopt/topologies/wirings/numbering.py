"""Numbers for the servers of a graph file, and their names; switches are refused."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import MOST
from topoopt.topologies.wirings.foreign_graph import ForeignGraph, ForeignNode

_KINDS = ("type", "kind", "role", "node_type", "device", "device_type", "category", "class")
_SWITCHES = re.compile(
    r".*switch.*|router|leaf|spine|tor|ocs|core|aggregation|patch.?panel|panel", re.IGNORECASE
)
_NAMES = ("name", "label", "hostname")
_NO_LABEL = ("", r"\N")  # what Graphviz writes for the name itself


@dataclass(frozen=True, slots=True)
class Numbering:
    """Number of each node by its name in the file; ``names`` by number, empty where numbers are the names."""

    number: Mapping[str, int]
    names: tuple[str, ...]

    def shown(self, server: int) -> str:
        """Return what messages call a server."""
        return f"server {self.names[server]}" if self.names else f"server {server}"


def numbered(graph: ForeignGraph) -> Numbering:
    """Return the numbers of the servers.

    Numbers 0 to n-1 in the file are kept. Other names are numbered in the order of the file, or sorted (``srv2``
    before ``srv10``) where a file only lists links. A node is called by its ``name`` or ``label``, if all have one of
    their own, and else by its id.

    Raises
    ------
    InvalidInput
        For a switch, a node twice or not declared, a gap in numbers that nothing declares, and too many servers.
    """
    _refuse_switches(graph.nodes)
    declared = [node.name for node in graph.nodes]
    if len(set(declared)) < len(declared):
        again = next(node for index, node in enumerate(graph.nodes) if node.name in declared[:index])
        raise InvalidInput(f"{again.place}: node {again.name} stands twice; name every server once")
    ids = dict.fromkeys(declared if graph.all_named else ())
    for link in graph.links:
        for end in link.ends:
            if graph.all_named and end not in ids:
                raise InvalidInput(
                    f"{link.place}: {end} is not among the nodes; declare it, or mend the link"
                )
            ids[end] = None
    if not graph.all_named:
        ids.update(dict.fromkeys(declared))
    if len(ids) > MOST["servers"]:
        raise InvalidInput(f"names {len(ids)} servers, expected at most {MOST['servers']}")
    return _numbering(graph, list(ids))


def _numbering(graph: ForeignGraph, ids: Sequence[str]) -> Numbering:
    names = _own_names(graph.nodes, ids)
    numbers = [int(one) for one in ids if one.isascii() and one.isdecimal() and one == str(int(one[:9]))]
    if len(numbers) == len(ids):
        if len(ids) and max(numbers) == len(ids) - 1:
            by_number = tuple(names[str(number)] for number in range(len(ids))) if names else ()
            return Numbering({one: int(one) for one in ids}, by_number)
        if not graph.all_named and min(numbers, default=0) == 0:
            missing = next(number for number, have in enumerate(sorted(numbers)) if number != have)
            raise InvalidInput(f"server {missing} has no link; number servers from 0 without a gap")
    order = ids if graph.all_named else sorted(ids, key=natural)
    return Numbering(
        {one: number for number, one in enumerate(order)}, tuple(names.get(one, one) for one in order)
    )


def natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Return what to sort names by, so that numbers in them count as such: srv2 comes before srv10."""
    return tuple(
        (part.isdecimal(), int(part[:18]) if part.isdecimal() else 0, part)
        for part in re.split(r"(\d+)", name)
    )


def _own_names(nodes: Sequence[ForeignNode], ids: Sequence[str]) -> dict[str, str]:
    """Return the names that all nodes say, by their ids; nothing where one has none, or two have the same."""
    for word in _NAMES:
        said = {node.name: _text(node.says.get(word)) for node in nodes}
        if set(said) == set(ids) and all(said.values()) and len(set(said.values())) == len(ids):
            return {} if said == {one: one for one in ids} else said
    return {}


def _text(value: Any) -> str:
    text = " ".join(str(value).split()) if isinstance(value, str) else ""
    return "" if text in _NO_LABEL else text


def _refuse_switches(nodes: Sequence[ForeignNode]) -> None:
    for node in nodes:
        for word, value in node.says.items():
            if word.lower() in _KINDS and isinstance(value, str) and _SWITCHES.fullmatch(value.strip()):
                raise InvalidInput(
                    f"{node.place}: node {node.name} is a switch ({word} {shown(value)}), and a wiring joins servers "
                    "directly; leave switches out; fabrics with switches have names, such as fat-tree"
                )
