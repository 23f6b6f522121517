"""The noun ForeignGraph: what a graph file of others says, before its servers have numbers."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import MOST
from topoopt.base.units import format_bandwidth, format_time, parse_bandwidth, parse_time

LONGEST_NAME = 200
"""Characters of a server's name."""


@dataclass(frozen=True, slots=True)
class ForeignNode:
    """A node: where it stands in the file, its name there, and its attributes."""

    place: str
    name: str
    says: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignLink:
    """A link: where it stands in the file, the names of its two ends, and its attributes."""

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
        In the order of the file; those that only links name are not among them.
    links : tuple of ForeignLink
    directed : bool, optional
        What the file says; None where it says nothing.
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


def node_name(value: Any, place: str) -> str:
    """Return the name of a node as text: numbers as they are, tuples of a grid as networkx prints them.

    Raises
    ------
    InvalidInput
        If it is neither text nor a number, is empty, or longer than :data:`LONGEST_NAME`.
    """
    if isinstance(value, list) and value and all(_is_plain(one) for one in value):
        value = repr(tuple(value))
    if not _is_plain(value) or not str(value).strip() or len(str(value)) > LONGEST_NAME:
        raise InvalidInput(f"{place}: expected the name or number of a server, got {shown(value)}")
    return str(value).strip()


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


_BANDWIDTH = {
    "bandwidth": 1.0,
    "bw": 1.0,
    "speed": 1.0,
    "bandwidth_bps": 1.0,
    "bw_bps": 1.0,
    "speed_bps": 1.0,
}
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


def bandwidth_of_links(links: Sequence[ForeignLink]) -> float | None:
    """Return the bandwidth in bits/s that all links have, None where none says one.

    Raises
    ------
    InvalidInput
        With its place, for a link of another bandwidth than the first one: ports of a wiring are alike.
    """
    return _alike(
        links,
        _BANDWIDTH,
        lambda value, place, scale: _number(
            value, place, scale, parse_bandwidth, _LEAST_BPS, np.inf, "100Gbps"
        ),
        format_bandwidth,
        "write a link of twice the bandwidth as two, if it takes two ports, or leave bandwidths out",
    )


def latency_of_links(links: Sequence[ForeignLink]) -> float | None:
    """Return the latency in seconds that all links have, None where none says one.

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
    if isinstance(value, bool) or not re.fullmatch(r"[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?", text):
        return parse(text, place)
    number = float(text) * scale
    if not max(least, 0.0) <= number <= most or (least and number <= 0):
        raise InvalidInput(
            f"{place}: got {shown(value)} without a unit; write it with one, such as {example}"
        )
    return number
