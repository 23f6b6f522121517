"""A wiring from a file: that of ``topoopt topology``, a graph as node-link JSON, or a list of links, a line each."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from topoopt.errors import InvalidInput, shown
from topoopt.files import parse_json, read_text
from topoopt.frontier.wiring import Wiring, check_size, direct_wiring, wiring_of
from topoopt.limits import MOST
from topoopt.topology import DEFAULT_LATENCY_S, topology_from_arrays
from topoopt.wirings import read_wiring_file

_Row = tuple[str, int, int]  # where it stands, its two ends

_OURS = re.compile(r'^\s*\{[^\[]*?"format": "topoopt-wiring/')
_LINE = re.compile(r"\s*(\d+)\s*(?:[\s,]|->|-)\s*(\d+)\s*")


def read_wiring(
    path: str | Path, bandwidth_bps: float, links: str | None = None, degree: int | None = None
) -> Wiring:
    """Return the wiring of a file.

    What ``topoopt topology --out`` writes is read with its ports and rings, and says links and degree itself. Other
    JSON has ``links`` (or ``edges``) with ``source`` and ``target``, as networkx writes it, and may say ``directed``.
    Any other file has two servers a line, such as ``0 1``; what follows a # is a remark. A link that stands twice has
    two ports.

    Parameters
    ----------
    links : str, optional
        ``duplex``: each line is a cable, both ways. ``directed``: a fiber from the first to the second. Of JSON that
        says ``directed``, so; else duplex.
    degree : int, optional
        Ports of a server; of fewer links, ports are idle.

    Raises
    ------
    InvalidInput
        With the line or the place in JSON: what is no link, joins a server to itself, or takes more than ``degree``.
    """
    text = read_text(path)
    if _OURS.search(text):
        return _written_by_us(path, bandwidth_bps, links, degree)
    rows, said = (
        _json_rows(text, str(path)) if text.lstrip().startswith("{") else (_text_rows(text, str(path)), None)
    )
    listed = list(rows)
    if not listed:
        raise InvalidInput(f"{path}: names no link; write two servers a line, such as 0 1")
    directed = links == "directed" if links is not None else bool(said)
    for place, a, b in listed:
        if a == b:
            raise InvalidInput(f"{place}: server {a} is linked to itself; name two servers")
    servers = 1 + max(max(a, b) for _, a, b in listed)
    check_size(servers, len(listed))
    _check_ports(listed, servers, directed, degree, str(path))
    src, dst = np.array([(a, b) for _, a, b in listed], np.int64).T
    if not directed:
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    topology = topology_from_arrays("wiring", servers, src, dst, bandwidth_bps, DEFAULT_LATENCY_S)
    try:
        return wiring_of(str(path), topology, degree)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


def _written_by_us(path: str | Path, bandwidth_bps: float, links: str | None, degree: int | None) -> Wiring:
    made, _ = read_wiring_file(path)
    for word, given, said in (("links", links, made.links), ("degree", degree, made.degree)):
        if given not in (None, said):
            raise InvalidInput(f"{word}: {path} says {said}, got {given}; leave it out")
    check_size(made.servers, made.servers * made.degree)
    return direct_wiring(str(path), made, bandwidth_bps)


def _text_rows(text: str, path: str) -> Iterator[_Row]:
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0]
        if not content.strip():
            continue
        match = _LINE.fullmatch(content)
        if match is None:
            raise InvalidInput(
                f"{path}: line {number}: expected two servers, such as 0 1, got {shown(content.strip())}"
            )
        place = f"{path}: line {number}"
        yield place, _server(match[1], place), _server(match[2], place)


def _json_rows(text: str, path: str) -> tuple[Iterator[_Row], Any]:
    content = parse_json(text, path, foreign=True)
    key = "links" if "links" in content else "edges"
    listed = content.get(key)
    if not isinstance(listed, list):
        raise InvalidInput(f"{path}: expected a list of links, each with source and target")

    def rows() -> Iterator[_Row]:
        for index, link in enumerate(listed):
            place = f"{path}: {key}[{index}]"
            if not isinstance(link, dict) or not {"source", "target"} <= set(link):
                raise InvalidInput(f"{place}: expected source and target, got {shown(link)}")
            yield place, _server(link["source"], place), _server(link["target"], place)

    return rows(), content.get("directed")


def _server(value: Any, place: str) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < MOST["servers"]:
        raise InvalidInput(f"{place}: expected servers 0 to {MOST['servers'] - 1}, got {shown(value)}")
    return number


def _check_ports(rows: list[_Row], servers: int, directed: bool, degree: int | None, path: str) -> None:
    """Refuse the link for which a server has no port left, and servers without any."""
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
            raise InvalidInput(
                f"{path}: server {server} has no link {way}; number servers from 0 without a gap"
            )
