"""A wiring from links that others wrote: lists of links as text, or the nodes and links of a graph file.

A list of links as text has two servers a line, with commas, semicolons, tabs, blanks or arrows between them. A first
line may name the columns; behind the two ends there are then attributes.
"""

import ast
import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import MOST
from topoopt.schema.files import make_plain
from topoopt.topologies.direct_wiring import DirectWiring, wiring_of_arcs
from topoopt.topologies.metrics import hops_from, trees_to
from topoopt.topologies.wirings.file_model import PortedLinks
from topoopt.topologies.wirings.foreign_graph import (
    LINK_WORDS,
    ForeignGraph,
    ForeignLink,
    ForeignNode,
    bandwidth_of_links,
    latency_of_links,
    meant,
    node_name,
    ports_of_links,
    refuse_misspelled,
)
from topoopt.topologies.wirings.switched_graph import is_switch

SYNTAX = "list of links"
_FROM = ("source", "src", "from", "source_server", "server_a", "node_a", "from_server", "host_a", "a_server")
_TO = (
    *("target", "dst", "destination", "to", "target_server", "server_b", "node_b", "to_server", "host_b"),
    "b_server",
)
_REMARKS = (
    *(
        "id",
        "name",
        "label",
        "comment",
        "comments",
        "note",
        "notes",
        "description",
        "color",
        "status",
        "weight",
        "key",
    ),
    *(
        "cable",
        "cable_id",
        "cable_type",
        "type",
        "media",
        "length",
        "length_m",
        "panel",
        "rack",
        "rack_a",
        "rack_b",
    ),
    *("ocs", "nic_a", "nic_b", "circuit_id", "action", "step"),
)
"""Columns about a link that are passed over; the last ones are those of a patch list."""
_TWO = 2
_NUMBERS = re.compile(r"\s*(\d+)(?:\s*(?:->|--)\s*|\s+-\s+|-\s*)(\d+)\s*")
_ARROW = re.compile(r"->|--|—|–|(?<=\s)-(?=\s)")
_Line = tuple[int, str]
_NAMES = ("name", "label", "hostname")
_NO_LABEL = ("", r"\N")  # what Graphviz writes for the name itself


@dataclass(frozen=True, slots=True)
class Numbering:
    """Number of each node by its name in the file; ``names`` by number, empty where numbers are the names."""

    number: Mapping[str, int]
    names: tuple[str, ...]

    def shown(self, server: int) -> str:
        """Return a server's name for messages."""
        return f"server {self.names[server]}" if self.names else f"server {server}"


GIVEN = "given"
"""The family of a wiring of which only the links are known."""
_Row = tuple[ForeignLink, int, int]  # a link, its two ends


def listed_wiring(
    graph: ForeignGraph,
    links: str | None,
    degree: int | None,
    only_listed: bool = False,
    regular: bool = True,
) -> tuple[DirectWiring, PortedLinks | None]:
    """Return the wiring of such a file, and the ports of its links if all are given; see ``read_wiring_file``."""
    if not graph.links:
        raise InvalidInput("names no link; write two servers a line, such as 0 1")
    numbers = numbered(graph)
    rows = [(link, numbers.number[link.ends[0]], numbers.number[link.ends[1]]) for link in graph.links]
    for link, a, b in rows:
        refuse_misspelled(link)
        if a == b:
            raise InvalidInput(f"{link.place}: {numbers.shown(a)} is linked to itself; name two servers")
    said = None if graph.directed is None else ("directed" if graph.directed else "duplex")
    kind = (said if only_listed else links) or links or said or "duplex"
    known = {
        "read_from": graph.syntax,
        "bandwidth_bps": bandwidth_of_links(graph.links),
        "latency_s": latency_of_links(graph.links),
        "names": list(numbers.names) or None,
    }
    recipe = {key: value for key, value in known.items() if value is not None}
    if (links is None or (only_listed and links == "duplex")) and (cables := _cables_said_both_ways(rows)):
        rows, kind = cables, "duplex"
        recipe["said"] = "every cable both ways"
    directed = kind == "directed"
    servers = len(numbers.number)
    port_count = _checked_ports(rows, numbers, directed, degree, regular)
    src, dst = np.array([(a, b) for _, a, b in rows], np.int64).T
    arcs = (src, dst) if directed else (np.concatenate([src, dst]), np.concatenate([dst, src]))
    made = wiring_of_arcs(GIVEN, kind, servers, port_count, arcs, recipe)
    first = {server: link.place for link, a, b in reversed(rows) for server in (a, b)}
    refuse_parts(made, lambda server: f"{first[server]}: {numbers.shown(server)}", numbers.shown(0))
    return made, _ports([link for link, _, _ in rows], (src, dst), port_count, directed)


def _cables_said_both_ways(rows: Sequence[_Row]) -> list[_Row]:
    """Return each cable once if every link has its reverse in the file; otherwise empty."""
    there = Counter((a, b) for _, a, b in rows)
    if any(there[b, a] != count for (a, b), count in there.items()):
        return []
    return [row for row in rows if row[1] < row[2]]


def _ports(
    links: Sequence[ForeignLink], ends: tuple[Ints, Ints], degree: int, directed: bool
) -> PortedLinks | None:
    """Return the ports of the links; None if some are missing, or one is used twice."""
    found = ports_of_links(links, degree)
    if found is None:
        return None
    (src, dst), (out, into) = ends, found
    taken = [src * degree + out, dst * degree + into]
    sides: Sequence[Ints] = taken if directed else [np.concatenate(taken)]
    if any(len(np.unique(side)) < len(side) for side in sides):
        return None
    width = next(width for width in range(1, degree + 1) if (out // width == into // width).all())
    return PortedLinks(src, out, dst, into, width)


def _checked_ports(
    rows: Sequence[_Row], numbers: Numbering, directed: bool, degree: int | None, regular: bool
) -> int:
    """Return the ports of a server; refuse the link for which one has none left, and servers that have other ports."""
    servers = len(numbers.number)
    out, into = [0] * servers, [0] * servers
    for link, a, b in rows:
        for taken, server, way in ((out, a, "out"), (into, b, "in")):
            taken[server] += 1
            if not directed:
                (into if taken is out else out)[server] += 1
            if degree is not None and taken[server] > degree:
                raise InvalidInput(
                    f"{link.place}: {numbers.shown(server)} has {degree} ports {way}, and this would be port "
                    f"{taken[server]}; give it fewer links, or a larger degree"
                )
    for server in range(servers):
        if not out[server] or not into[server]:
            way = "out" if not out[server] else "in"
            raise InvalidInput(
                f"{numbers.shown(server)} has no link {way}; number servers from 0 without a gap"
                if not numbers.names
                else f"{numbers.shown(server)} has no link {way}; give it one, or leave it out"
            )
    most = max(*out, *into)
    if most > MOST["degree"]:
        server = out.index(most) if most in out else into.index(most)
        raise InvalidInput(f"{numbers.shown(server)} has {most} ports, expected at most {MOST['degree']}")
    usual = int(np.bincount(out + into).argmax())
    for server in range(servers if degree is None and regular else 0):
        for way, count in (("out", out[server]), ("in", into[server])):
            if count != usual:
                raise InvalidInput(
                    f"wiring: not regular: {numbers.shown(server)} has {count} ports {way}, most have {usual}; give "
                    f"every server as many, or degree={most} to leave ports idle"
                )
    return degree or most


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
    said = {node.name: node.says for node in graph.nodes}
    places = {end: link.place for link in reversed(graph.links) for end in link.ends}
    for name, place in (places | {node.name: node.place for node in graph.nodes}).items():
        if is_switch(name, said.get(name, {})):
            raise InvalidInput(
                f"{place}: node {name} is a switch or a NIC, and a wiring joins servers directly; leave those out, or "
                "rename it; topoopt collective takes them, and fabrics with switches have names, such as fat-tree"
            )
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
    """Return a sort key that orders numbers in names by value: srv2 comes before srv10."""
    return tuple(
        (part.isdecimal(), int(part[:18]) if part.isdecimal() else 0, part)
        for part in re.split(r"(\d+)", name)
    )


def _own_names(nodes: Sequence[ForeignNode], ids: Sequence[str]) -> dict[str, str]:
    """Return the names of all nodes by their ids; nothing where one has none, or two have the same."""
    for word in _NAMES:
        said = {node.name: _text(node.says.get(word)) for node in nodes}
        if set(said) == set(ids) and all(said.values()) and len(set(said.values())) == len(ids):
            return {} if said == {one: one for one in ids} else said
    return {}


def _text(value: Any) -> str:
    text = " ".join(str(value).split()) if isinstance(value, str) else ""
    return "" if text in _NO_LABEL else text


def refuse_parts(wiring: DirectWiring, place_of: Callable[[int], str], root_name: str = "server 0") -> None:
    """Refuse a wiring that falls into parts.

    Parameters
    ----------
    place_of : function
        Returns the place of a server in the file.
    root_name : str
        Name of server 0.

    Raises
    ------
    InvalidInput
        With the first server that 0 does not reach, or that does not reach 0.
    """
    topology, root = wiring.topology(), np.array([0])
    for hops, words in (
        (hops_from(topology, root), f"{root_name} does not reach it"),
        (trees_to(topology, root).hops, f"it does not reach {root_name}"),
    ):
        for server in np.flatnonzero(hops[0] < 0)[:1].tolist():
            raise InvalidInput(f"{place_of(server)}: {words}; the wiring falls into parts, join them")


def listed_graph(text: str) -> ForeignGraph:
    """Return the graph of a list of links; text after a # is a comment.

    Raises
    ------
    InvalidInput
        With the line, if it holds other than two servers, or fewer values than there are columns.
    """
    lines = [(number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line]
    if not lines:
        return ForeignGraph(SYNTAX, (), ())
    # the sign that stands in every line, as a table has it; "" for blanks and arrows
    separator = next((sign for sign in ",;\t" if all(sign in line for _, line in lines)), "")
    columns = [word.lower().replace(" ", "_") for word in _fields(lines[0], separator)]
    found = [[column for column, word in enumerate(columns) if word in words] for words in (_FROM, _TO)]
    if any(found):
        _check_columns(f"line {lines[0][0]}", columns, found)
        ends = found[0][0], found[1][0]
        return ForeignGraph(SYNTAX, (), tuple(_tabled(lines[1:], separator, columns, ends)))
    rows = tuple(_pairs(lines, separator))
    once = rows[0].ends
    again = {end for row in rows[1:] for end in row.ends}
    if separator and again and again.isdisjoint(once) and not any(end.isdecimal() for end in once):
        raise InvalidInput(  # links of one wiring hang together
            f"{rows[0].place}: unknown columns {shown(once[0])} and {shown(once[1])}; name those of the two ends of a "
            "cable source and target"
        )
    return ForeignGraph(SYNTAX, (), rows)


def _check_columns(place: str, columns: Sequence[str], found: Sequence[Sequence[int]]) -> None:
    """Refuse a header that does not name each end once, or has columns that are unknown or stand twice."""
    known = (*_FROM, *_TO, *LINK_WORDS, *_REMARKS)
    for number, word in enumerate(columns):
        if word not in known:
            near = meant(word, (*_FROM[:1], *_TO[:1], *LINK_WORDS), 0.6)
            hint = (
                f"did you mean {near}? Or "
                if near
                else "expected such as source, target, bandwidth, latency; "
            )
            raise InvalidInput(
                f"{place}: unknown column {shown(word)}; {hint}leave it out, or name it comment"
            )
        if word in columns[:number]:
            raise InvalidInput(f"{place}: column {shown(word)} stands twice")
    for words, there in zip((_FROM, _TO), found, strict=True):
        if len(there) != 1:
            said = ", ".join(columns[column] for column in there) or "none"
            raise InvalidInput(f"{place}: expected one column {words[0]}, got {said}")


def _fields(line: _Line, separator: str) -> list[str]:
    number, text = line
    if not separator:
        return [
            word.strip()
            for word in (_ARROW.split(text) if _ARROW.search(text) else re.split(r"[\s,;]+", text))
            if word.strip()
        ]
    try:
        return [word.strip() for word in next(csv.reader([text], delimiter=separator, strict=True))]
    except csv.Error as error:
        raise InvalidInput(f"line {number}: not CSV: {error}") from None


def _tabled(
    lines: list[_Line], separator: str, columns: list[str], ends: tuple[int, int]
) -> Iterator[ForeignLink]:
    rows = [(line[0], _fields(line, separator)) for line in lines]
    make_plain(rows, "", separator != ",", ends)
    for number, fields in rows:
        place = f"line {number}"
        if len(fields) > len(columns) or len(fields) <= max(ends):
            raise InvalidInput(
                f"{place}: {len(fields)} values for the {len(columns)} columns {', '.join(columns)}"
            )
        a, b = (_end(fields[end], place) for end in ends)
        says = {name: value for name, value in zip(columns, fields, strict=False) if value}
        yield ForeignLink(
            place, (a, b), {name: says[name] for name in says if columns.index(name) not in ends}
        )


def _pairs(lines: list[_Line], separator: str) -> Iterator[ForeignLink]:
    for number, line in lines:
        place = f"line {number}"
        behind = "{" in line and line.endswith("}")  # write_edgelist of networkx puts a dictionary there
        text = line.partition("{")[0].strip() if behind else line
        says = _dictionary(line[line.index("{") :], place) if behind else {}
        numbers = _NUMBERS.fullmatch(text)
        fields = [numbers[1], numbers[2]] if numbers else _fields((number, text), "" if behind else separator)
        if len(fields) != _TWO or not all(fields):
            columns = "; name the columns in a first line, such as source,target,bandwidth"
            more = columns if len(fields) > _TWO else ""
            raise InvalidInput(f"{place}: expected two servers, such as 0 1, got {shown(text)}{more}")
        yield ForeignLink(place, (_end(fields[0], place), _end(fields[1], place)), says)


def _end(word: str, place: str) -> str:
    if re.fullmatch(r"-\d+", word):
        raise InvalidInput(f"{place}: expected two servers, such as 0 1, got {shown(word)}")
    return node_name(word, place)


def _dictionary(text: str, place: str) -> Mapping[str, Any]:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInput(
            f"{place}: expected attributes such as {{'bandwidth': '100Gbps'}}, got {shown(text)}"
        )
    return {str(name): value for name, value in found.items()}
