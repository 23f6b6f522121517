"""ForeignGraph: a graph file from elsewhere before its servers are numbered; and the GraphML reader.

It is read by events and not by networkx, whose errors name no line, and which expands entities and accepts nested
graphs and edges without an end. Here a mistake has its line, entities are refused, and a large file needs no tree.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any
from xml.parsers import expat

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import MOST
from topoopt.base.units import format_bandwidth, format_time, parse_bandwidth, parse_time

LONGEST_NAME = 200
"""Characters of a server's name."""


@dataclass(frozen=True, slots=True)
class ForeignNode:
    """A node: its place in the file, its name there, and its attributes."""

    place: str
    name: str
    says: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignLink:
    """A link: its place in the file, the names of its two ends, and its attributes."""

    place: str
    ends: tuple[str, str]
    says: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignGraph:
    """Nodes and links as a file has them.

    Attributes
    ----------
    syntax : str
        GraphML, DOT, node-link JSON, or list of links.
    nodes : tuple of ForeignNode
        Nodes in the order of the file, without nodes that only links name.
    links : tuple of ForeignLink
    directed : bool, optional
        Whether links are directed; None if not given.
    says : mapping
        Attributes of the graph.
    all_named : bool
        Whether every node has to be among ``nodes``.
    """

    syntax: str
    nodes: tuple[ForeignNode, ...]
    links: tuple[ForeignLink, ...]
    directed: bool | None = None
    says: Mapping[str, Any] = field(default_factory=dict)
    all_named: bool = False


_BANDWIDTH = dict.fromkeys(("bandwidth", "bw", "speed", "bandwidth_bps", "bw_bps", "speed_bps"), 1.0)
_BANDWIDTH |= {f"{word}_gbps": 1e9 for word in ("bandwidth", "bw", "speed")} | {"gbps": 1e9}
_LATENCY = {"latency": 1.0, "delay": 1.0, "latency_s": 1.0, "delay_s": 1.0}
_LATENCY |= {
    f"{word}_{unit}": scale for word in ("latency", "delay") for unit, scale in (("us", 1e-6), ("ns", 1e-9))
}
_LEAST_BPS, _MOST_S = 1e6, 1.0  # what a number without a unit may be, lest it be Gb/s or ms
_PORTS = (
    ("source_port", "sourceport", "src_port", "port_a"),
    ("target_port", "targetport", "dst_port", "port_b"),
)
LINK_WORDS = (*_BANDWIDTH, *_LATENCY, *_PORTS[0], *_PORTS[1])
"""Attributes of a link that are read."""
_MEANT = dict.fromkeys(("capacity", "rate", "link_rate", "link_speed", "throughput"), "bandwidth")
_NEAR = 0.82  # letters that are alike: 8 of the 9 in badnwidth
SYNTAX = "GraphML"
_NUMBERS = {"int": int, "long": int, "float": float, "double": float}
_NODE_LABEL = "NodeLabel"  # where yEd keeps what it shows


def graphml_graph(text: str) -> ForeignGraph:
    """Return the graph of a GraphML file.

    Raises
    ------
    InvalidInput
        With the line, for XML that is broken or declares entities, another root than ``graphml``, several graphs or
        nested ones, hyperedges, an edge without an end, and edges of which some are directed.
    """
    reader = _Reader()
    try:
        reader.parser.Parse(text, True)
    except expat.ExpatError as error:
        raise InvalidInput(f"line {error.lineno}: not XML: {expat.ErrorString(error.code)}") from None
    if not reader.graphs:
        raise InvalidInput("holds no graph; expected GraphML with nodes and edges")
    return ForeignGraph(
        SYNTAX, tuple(reader.nodes), tuple(reader.links), reader.directed, reader.graph_says, all_named=True
    )


class _Reader:
    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.EntityDeclHandler = self._refuse_entities
        self.parser.buffer_text = True
        self.graphs = 0
        self.directed = False
        self.graph_says: dict[str, Any] = {}
        self.nodes: list[ForeignNode] = []
        self.links: list[ForeignLink] = []
        self._keys: dict[str, tuple[str, str]] = {}  # by id: name and type
        self._usual: dict[str, dict[str, Any]] = {}  # by what they are for: attributes that are not said
        self._open: list[str] = []
        self._says: list[dict[str, Any]] = []  # of the graph, and of the node or edge that is open
        self._key: tuple[str, str, str] = ("", "", "")  # the open key: what for, name, type
        self._name = ""
        self._text: list[str] = []

    def _place(self) -> str:
        return f"line {self.parser.CurrentLineNumber}"

    def _start(self, tag: str, has: dict[str, str]) -> None:
        kind = tag.rpartition(":")[2]
        if not self._open and kind != "graphml":
            raise InvalidInput(f"{self._place()}: expected GraphML, got XML of {shown(kind)}; write GraphML")
        if kind == "hyperedge":
            raise InvalidInput(f"{self._place()}: a hyperedge joins more than two; write an edge a cable")
        opened = getattr(self, f"_start_{kind}", None) if kind in ("key", "graph", "node", "edge") else None
        if opened is not None:
            opened(has)
        elif kind == "data":
            self._name, self._text = has.get("key", ""), []
        elif kind in ("default", _NODE_LABEL):
            self._text = []
        self._open.append(kind)

    def _start_key(self, has: dict[str, str]) -> None:
        name, kind = has.get("attr.name", has.get("id", "")), has.get("attr.type", "string")
        self._keys[has.get("id", "")] = name, kind
        self._key = has.get("for", "all"), name, kind

    def _start_graph(self, has: dict[str, str]) -> None:
        self.graphs += 1
        if self.graphs > 1:
            raise InvalidInput(f"{self._place()}: a second graph; expected one, without graphs inside nodes")
        self.directed = has.get("edgedefault") == "directed"
        self._says.append(self.graph_says)

    def _start_node(self, has: dict[str, str]) -> None:
        says = {**self._usual.get("all", {}), **self._usual.get("node", {})}
        self._says.append(says)
        self.nodes.append(ForeignNode(self._place(), node_name(has.get("id"), self._place()), says))

    def _start_edge(self, has: dict[str, str]) -> None:
        place = self._place()
        for end in ("source", "target"):
            if end not in has:
                raise InvalidInput(f"{place}: an edge without {end}; give both ends")
        if has.get("directed", str(self.directed).lower()) != str(self.directed).lower():
            usual = "directed" if self.directed else "undirected"
            raise InvalidInput(
                f"{place}: directed={shown(has['directed'])} in a graph whose edges are {usual}; write all alike"
            )
        says: dict[str, Any] = {**self._usual.get("all", {}), **self._usual.get("edge", {})}
        says |= {f"{end}_port": has[f"{end}port"] for end in ("source", "target") if f"{end}port" in has}
        self._says.append(says)
        self.links.append(
            ForeignLink(place, (node_name(has["source"], place), node_name(has["target"], place)), says)
        )

    def _end(self, tag: str) -> None:
        kind = self._open.pop()
        text = "".join(self._text).strip()
        if kind == "data" and self._says:
            name, typed = self._keys.get(self._name, (self._name, "string"))
            if text:
                self._says[-1][name] = self._value(text, typed)
        elif kind == _NODE_LABEL and self._says:
            self._says[-1]["label"] = text
            self._text = []
        elif kind == "default" and text:
            wanted, name, typed = self._key
            self._usual.setdefault(wanted, {})[name] = self._value(text, typed)
        elif kind in ("graph", "node", "edge"):
            self._says.pop()

    def _value(self, text: str, typed: str) -> Any:
        if typed == "boolean":
            return text.lower() in ("true", "1")
        try:
            return _NUMBERS[typed](text) if typed in _NUMBERS else text
        except ValueError:
            raise InvalidInput(f"{self._place()}: expected a number ({typed}), got {shown(text)}") from None

    def _characters(self, text: str) -> None:
        self._text.append(text)

    def _refuse_entities(self, *_: object) -> None:
        raise InvalidInput(f"{self._place()}: declares an entity; write the text itself")


def node_name(value: Any, place: str) -> str:
    """Return the name of a node as text: numbers as they are, tuples of a grid as networkx prints them.

    Raises
    ------
    InvalidInput
        If it is neither text nor a whole number, is empty, or longer than :data:`LONGEST_NAME`.
    """
    if isinstance(value, list) and value and all(_is_plain(one) for one in value):
        value = repr(tuple(value))
    is_fraction = re.fullmatch(r"[+-]?\d*[.,]\d+", str(value).strip())
    if not _is_plain(value) or not str(value).strip() or len(str(value)) > LONGEST_NAME or is_fraction:
        raise InvalidInput(f"{place}: expected the name or number of a server, got {shown(value)}")
    return str(value).strip()


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def bandwidth_of_each(links: Sequence[ForeignLink]) -> Floats | None:
    """Return the bandwidth of every link in bits/s; None if none has one.

    A ``capacity`` without a unit is in gigabytes per second, as files for collective schedulers have it.

    Raises
    ------
    InvalidInput
        With the place of a link without a bandwidth among others that have one, or whose bandwidth is no number.
    """
    words = {**_BANDWIDTH, "capacity": 8e9}
    found = []
    for link in links:
        said = [(word, value) for word, value in link.says.items() if word.lower() in words]
        found.append(
            None if not said else _bps(said[0][1], f"{link.place}: {said[0][0]}", words[said[0][0].lower()])
        )
    if all(one is None for one in found):
        return None
    for link, one in zip(links, found, strict=True):
        if one is None:
            raise InvalidInput(f"{link.place}: has no bandwidth, and other links have one; give it to all")
    return np.array(found, np.float64)


def _bps(value: Any, place: str, scale: float) -> float:
    return _number(value, place, scale, parse_bandwidth, _LEAST_BPS, np.inf, "100Gbps")


def refuse_misspelled(link: ForeignLink) -> None:
    """Refuse attributes that are not read and are nearly, or mean, ones that are.

    Raises
    ------
    InvalidInput
        With the place of the link.
    """
    for word in link.says:
        if word.lower() not in LINK_WORDS and (near := meant(word.lower(), LINK_WORDS, _NEAR)):
            raise InvalidInput(
                f'{link.place}: unknown "{word[:LONGEST_NAME]}"; did you mean {near}? Or leave it out'
            )


def meant(word: str, known: Sequence[str], alike: float) -> str | None:
    """Return the known word that another one means, or is nearest to by a share of letters that are alike."""
    return _MEANT.get(word) or next(iter(get_close_matches(word, known, 1, alike)), None)


def bandwidth_of_links(links: Sequence[ForeignLink]) -> float | None:
    """Return the bandwidth in bits/s that all links have, None if none has one.

    Raises
    ------
    InvalidInput
        With its place, for a link of another bandwidth than the first one: ports of a wiring are alike.
    """
    return _alike(
        links,
        _BANDWIDTH,
        _bps,
        format_bandwidth,
        "write a link of twice the bandwidth as two, if it takes two ports, or leave bandwidths out",
    )


def latency_of_links(links: Sequence[ForeignLink]) -> float | None:
    """Return the latency in seconds that all links have, None if none has one.

    Raises
    ------
    InvalidInput
        With its place, for a link of another latency than the first one.
    """
    return _alike(
        links,
        _LATENCY,
        lambda value, place, scale: _number(value, place, scale, parse_time, 0.0, _MOST_S, "1us"),
        format_time,
        "give all links one, or leave latencies out",
    )


def ports_of_links(links: Sequence[ForeignLink], degree: int) -> tuple[Ints, Ints] | None:
    """Return the ports at both ends of every link; None where one is missing or is no number below the degree."""
    found = np.empty((2, len(links)), np.int64)
    for index, link in enumerate(links):
        for end, words in enumerate(_PORTS):
            said = next((link.says[word] for word in words if word in link.says), None)
            text = str(said).strip()
            if isinstance(said, bool) or not re.fullmatch(r"\d{1,9}", text) or int(text) >= degree:
                return None
            found[end, index] = int(text)
    assert degree <= MOST["degree"]
    return found[0], found[1]


def _alike(
    links: Sequence[ForeignLink],
    words: dict[str, float],
    read: Callable[[Any, str, float], float],
    written: Callable[[float], str],
    remedy: str,
) -> float | None:
    first: tuple[float, ForeignLink] | None = None
    for link in links:
        for word, value in link.says.items():
            scale = words.get(word.lower())
            if scale is None or value is None:
                continue
            number = read(value, f"{link.place}: {word}", scale)
            first = first or (number, link)
            if number != first[0]:
                raise InvalidInput(
                    f"{link.place}: link {link.ends[0]} - {link.ends[1]} has {written(number)}, that of "
                    f"{first[1].place} {written(first[0])}, and all links of a wiring are alike; {remedy}"
                )
    return None if first is None else first[0]


def _number(
    value: Any,
    place: str,
    scale: float,
    parse: Callable[[str, str], float],
    least: float,
    most: float,
    example: str,
) -> float:
    """Return a value with its unit; a number alone is bits/s or seconds, unless the attribute's name has a unit."""
    text = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(
        r"[-+]?(?:\d++(?:\.\d++)?|\.\d++)(?:[eE][-+]?\d++)?", text
    ):
        return parse(text, place)
    number = float(text) * scale
    if not max(least, 0.0) <= number <= most or (least and number <= 0) or np.isinf(number):
        raise InvalidInput(
            f"{place}: got {shown(value)} without a unit; write it with one, such as {example}"
        )
    return number
