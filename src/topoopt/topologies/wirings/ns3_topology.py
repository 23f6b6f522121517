"""Topology files of ns-3, as HPCC, ASTRA-sim and SimAI have them: numbers of nodes, the switches, and links.

The first line has the nodes, switches and links; SimAI's the nodes, accelerators of a server, switches inside servers,
switches of the network, links and the kind of accelerator. The second line names the switches, if there are any, and
every other line is a link: its ends, rate, latency and share of errors. A host does not forward there; so ``topoopt
export`` gives each server a switch of its own, and these are servers here. Other switches are nodes of that type.

References
----------
.. [1] github.com/alibaba-edu/High-Precision-Congestion-Control, ``simulation/mix``; github.com/astra-sim/astra-sim,
   ``examples/network/ns3/topology``; github.com/aliyun/SimAI, ``astra-sim-alibabacloud/inputs/topo``.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import gcd
from typing import NamedTuple

from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import MOST
from topoopt.base.units import format_bandwidth, parse_bandwidth
from topoopt.topologies.wirings.foreign_graph import ForeignGraph, ForeignLink, ForeignNode

SYNTAX = "ns-3 topology"
_HEAD = re.compile(r"\s*\d+[ \t]+\d+[ \t]+\d+(?:[ \t]+\d+[ \t]+\d+[ \t]+\w+)?[ \t]*\r?\n")
_LINK = re.compile(
    r"(\d{1,9})\s+(\d{1,9})\s+(\d[\d.e+]*[kMGT]?bps)\s+(\d[\d.e+-]*[munp]?s)(?:\s+\S+)?", re.IGNORECASE
)
_PORT_UNIT_BPS = 1e6


class _Row(NamedTuple):
    place: str
    ends: tuple[int, int]
    rate_bps: int
    latency: str


def is_ns3_topology(text: str) -> bool:
    """Return whether a text begins as such a file."""
    begins = text[:100_000].splitlines()[:2000]
    return bool(_HEAD.match(text)) and any(_LINK.fullmatch(line.strip()) for line in begins)


def ns3_graph(text: str) -> ForeignGraph:
    """Return the servers and their links; a link of twice the rate of one port is two.

    Where servers share switches, all nodes and links are returned.

    Raises
    ------
    InvalidInput
        With the line, if it is no link or has an end that is no node; for other numbers of switches or links than the
        first line has, and for rates that are no multiples of one.
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    head = lines[0][1].split()
    nodes, per_server, inside, outside, links = (
        (int(head[0]), 1, 0, int(head[1]), int(head[2])) if len(head) == 3 else tuple(map(int, head[:5]))
    )
    first = next((index for index, (_, line) in enumerate(lines) if _LINK.fullmatch(line)), len(lines))
    switches = [
        int(word) for _, line in lines[1:first] for word in line.split() if re.fullmatch(r"[0-9]{1,9}", word)
    ]
    rows = [_row(number, line, nodes) for number, line in lines[first:]]
    for what, said, there in (("switches", inside + outside, len(switches)), ("links", links, len(rows))):
        if said != there:
            raise InvalidInput(f"line 1: says {said} {what}, there are {there}; mend the first line")
    if switches:
        cables = _between_servers(rows, set(switches[inside:]), max(per_server, 1))
        if not cables:
            return _switched(rows, nodes, switches, per_server)
        rows, nodes = cables, outside
    named = tuple(ForeignNode("line 1", str(number)) for number in range(nodes))
    return ForeignGraph(SYNTAX, named, tuple(_ports(rows)), all_named=True)


def _row(number: int, line: str, nodes: int) -> _Row:
    place, match = f"line {number}", _LINK.fullmatch(line)
    if match is None:
        raise InvalidInput(f"{place}: expected a link such as 0 1 400Gbps 0.001ms 0, got {shown(line)}")
    ends = int(match[1]), int(match[2])
    if max(ends) >= nodes:
        raise InvalidInput(f"{place}: node {max(ends)}: line 1 says {nodes} nodes, numbered from 0")
    return _Row(place, ends, round(parse_bandwidth(match[3], place)), match[4])


def _switched(rows: Sequence[_Row], nodes: int, switches: Sequence[int], per_server: int) -> ForeignGraph:
    """Return all nodes; accelerators of one server say which."""
    said: dict[int, dict[str, object]] = {one: {"type": "switch"} for one in switches}
    named = (
        ForeignNode(
            "line 1", str(one), said.get(one, {"server": one // per_server} if per_server > 1 else {})
        )
        for one in range(nodes)
    )
    links = (
        ForeignLink(row.place, (str(row.ends[0]), str(row.ends[1])), {"bandwidth_bps": row.rate_bps})
        for row in rows
    )
    return ForeignGraph(SYNTAX, tuple(named), tuple(links), all_named=True)


def _between_servers(rows: Sequence[_Row], network: set[int], per_server: int) -> list[_Row]:
    """Return the links between servers if each has a switch of the network of its own; otherwise empty."""
    servers: dict[int, set[int]] = defaultdict(set)
    hosts: dict[int, set[int]] = defaultdict(set)
    cables = []
    for row in rows:
        ends = sorted(row.ends, key=network.__contains__)
        if network.issuperset(ends):
            cables.append(row)
        elif ends[1] in network:
            servers[ends[1]].add(ends[0] // per_server)
            hosts[ends[0]].add(ends[1])
    alone = all(len(servers[switch]) == 1 for switch in network) and all(
        len(own) == 1 for own in hosts.values()
    )
    number = {switch: min(has) for switch, has in servers.items() if has}
    if not alone or len(set(number.values())) < len(network) or not cables:
        return []
    return [row._replace(ends=(number[row.ends[0]], number[row.ends[1]])) for row in cables]


def _ports(rows: Sequence[_Row]) -> Iterator[ForeignLink]:
    """Yield a link for each port, as fast as all rates have a divisor for."""
    unit_bps = gcd(*(row.rate_bps for row in rows))
    for row in rows:
        ports = row.rate_bps // max(unit_bps, 1)
        if ports > MOST["degree"] or unit_bps < _PORT_UNIT_BPS:
            raise InvalidInput(
                f"{row.place}: {format_bandwidth(row.rate_bps)} is no small multiple of one port's bandwidth "
                f"({format_bandwidth(unit_bps)} divides all); write rates of one, two or a few ports"
            )
        said = {"bandwidth_bps": unit_bps, "latency": row.latency}
        for _ in range(ports):
            yield ForeignLink(row.place, (str(row.ends[0]), str(row.ends[1])), said)
