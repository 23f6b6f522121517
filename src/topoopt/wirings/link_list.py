"""A wiring from a list of links that others wrote: node-link JSON, or two servers a line."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from topoopt.errors import InvalidInput, shown
from topoopt.limits import MOST
from topoopt.topology import DirectWiring, wiring_of_arcs
from topoopt.wirings.connected import refuse_parts

GIVEN = "given"
"""The family of a wiring of which only the links are known."""

_Row = tuple[str, int, int]  # where it stands, its two ends
_LINE = re.compile(r"\s*(\d+)\s*(?:[\s,]|->|-)\s*(\d+)\s*")


def listed_wiring(
    text: str, document: Mapping[str, Any] | None, links: str | None, degree: int | None
) -> DirectWiring:
    """Return the wiring of such a file, of which JSON is parsed; see :func:`topoopt.wirings.read_wiring_file`."""
    rows, said = (_text_rows(text), None) if document is None else _json_rows(document)
    listed = list(rows)
    if not listed:
        raise InvalidInput("names no link; write two servers a line, such as 0 1")
    directed = links == "directed" if links is not None else bool(said)
    for place, a, b in listed:
        if a == b:
            raise InvalidInput(f"{place}: server {a} is linked to itself; name two servers")
    servers = 1 + max(max(a, b) for _, a, b in listed)
    ports = _checked_ports(listed, servers, directed, degree)
    src, dst = np.array([(a, b) for _, a, b in listed], np.int64).T
    arcs = (src, dst) if directed else (np.concatenate([src, dst]), np.concatenate([dst, src]))
    made = wiring_of_arcs(GIVEN, "directed" if directed else "duplex", servers, ports, arcs)
    first = {server: place for place, a, b in reversed(listed) for server in (a, b)}
    refuse_parts(made, lambda server: f"{first[server]}: server {server}")
    return made


def _text_rows(text: str) -> Iterator[_Row]:
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0]
        if not content.strip():
            continue
        match = _LINE.fullmatch(content)
        if match is None:
            raise InvalidInput(
                f"line {number}: expected two servers, such as 0 1, got {shown(content.strip())}"
            )
        place = f"line {number}"
        yield place, _server(match[1], place), _server(match[2], place)


def _json_rows(content: Mapping[str, Any]) -> tuple[Iterator[_Row], Any]:
    key = "links" if "links" in content else "edges"
    listed = content.get(key)
    if str(content.get("schema", "")).startswith("topoopt-plan/"):
        raise InvalidInput("is a plan; give the wiring file that topoopt topology writes of it")
    if not isinstance(listed, list):
        raise InvalidInput("expected a list of links, each with source and target")

    def rows() -> Iterator[_Row]:
        for index, link in enumerate(listed):
            place = f"{key}[{index}]"
            if not isinstance(link, dict) or not {"source", "target"} <= set(link):
                raise InvalidInput(f"{place}: expected source and target, got {shown(link)}")
            yield place, _server(link["source"], place), _server(link["target"], place)

    return rows(), content.get("directed")


def _server(value: Any, place: str) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < MOST["servers"]:
        raise InvalidInput(f"{place}: expected servers 0 to {MOST['servers'] - 1}, got {shown(value)}")
    return number


def _checked_ports(rows: list[_Row], servers: int, directed: bool, degree: int | None) -> int:
    """Return the ports of a server; refuse the link for which one has none left, and servers that have other ports."""
    out, into = [0] * servers, [0] * servers
    for place, a, b in rows:
        for taken, server, way in ((out, a, "out"), (into, b, "in")):
            taken[server] += 1
            if not directed:
                (into if taken is out else out)[server] += 1
            if degree is not None and taken[server] > degree:
                raise InvalidInput(
                    f"{place}: server {server} has {degree} ports {way}, and this would be port {taken[server]}; give "
                    "it fewer links, or a larger degree"
                )
    for server in range(servers):
        if not out[server] or not into[server]:
            way = "out" if not out[server] else "in"
            raise InvalidInput(f"server {server} has no link {way}; number servers from 0 without a gap")
    most = max(*out, *into)
    if most > MOST["degree"]:
        raise InvalidInput(f"server {out.index(most) if most in out else into.index(most)}: has {most} ports")
    usual = int(np.bincount(out + into).argmax())
    for server in range(servers if degree is None else 0):
        for way, count in (("out", out[server]), ("in", into[server])):
            if count != usual:
                raise InvalidInput(
                    f"wiring: not regular: server {server} has {count} ports {way}, most have {usual}; give every "
                    f"server as many, or degree={most} to leave ports idle"
                )
    return degree or most
