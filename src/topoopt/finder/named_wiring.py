"""A wiring of all servers by its name: strides, one of a family, or that of a wiring file."""

import os
from dataclasses import replace
from functools import lru_cache

import numpy as np

from topoopt.base.errors import InvalidInput, check_known
from topoopt.topologies import WIRING_FAMILIES, DirectWiring, wiring_hops
from topoopt.topologies.wirings import (
    FAMILY_NAMES,
    LIFTED,
    OBJECTIVES,
    JudgedWiring,
    WiringRequest,
    exists,
    judged,
    known_wirings,
    quick_search_s,
    read_wiring_file,
    search_wirings,
)

STRIDES = "strides"
"""What TopologyFinder takes in the paper: rings along strides, chosen by a rule of their own."""
WIRING_NAMES = (STRIDES, *FAMILY_NAMES)
"""Names of wirings; a family's may have an objective behind a colon, as in ``lifted:balanced``."""
BALANCED = OBJECTIVES[1]
_ONLY_SYMMETRIC, _SYMMETRIC = 512, ("circulant", "torus", "twisted-torus")
"""Servers from which on fewer families are tried unasked: judging and routing those without symmetry takes seconds."""


def check_wiring_name(name: str) -> None:
    """Refuse what is neither a name nor looks like a file.

    Raises
    ------
    InvalidInput
        With the nearest names.
    """
    if is_wiring_file(name):
        return
    family, colon, objective = name.partition(":")
    check_known("wiring", family, WIRING_NAMES)
    if colon:
        check_known("wiring: objective", objective, OBJECTIVES)


def is_wiring_file(name: str) -> bool:
    """Return whether the name is that of a file and not of a family."""
    return name not in WIRING_NAMES and ("/" in name or "." in name or os.path.isfile(name))


def named_wiring(name: str, servers: int, degree: int, links: str, seed: int = 0) -> DirectWiring:
    """Return the wiring; of several of a family the one with the fewest hops, or the best by the objective.

    Raises
    ------
    Infeasible
        If the family has none for so many servers and interfaces.
    InvalidInput
        For an unknown name; if the file is none, or is for other numbers of servers and interfaces, or other links.
    """
    if is_wiring_file(name):
        return _of_file(name, _stamp(name), servers, degree, links)
    check_wiring_name(name)
    if name.startswith(STRIDES):
        raise InvalidInput(
            "wiring: strides: which ones is for a plan to choose; name them as strides, such as 1,5"
        )
    family, _, objective = name.partition(":")
    return _of_family(family, objective or OBJECTIVES[0], servers, degree, links, seed)


def wirings_of(servers: int, degree: int, links: str) -> tuple[str, ...]:
    """Return the names of those that exist for so many servers and interfaces, beside strides."""
    if degree >= servers:
        return ()
    families = [name for name in FAMILY_NAMES if name != LIFTED and exists(name, servers, degree, links)]
    if servers > _ONLY_SYMMETRIC:
        families = [name for name in families if name in _SYMMETRIC]
    if exists(LIFTED, servers, degree, links) or exists(LIFTED, servers, degree - 1, links):
        families = [LIFTED, f"{LIFTED}:{BALANCED}", *families]
    return tuple(families)


@lru_cache(maxsize=256)
def _of_family(family: str, objective: str, servers: int, degree: int, links: str, seed: int) -> DirectWiring:
    if family == LIFTED or not exists(family, servers, degree, links):  # the search says where one exists
        rows = _frontier(family, servers, degree, links, seed)
        first = OBJECTIVES.index(objective) * 2
        return min(rows, key=lambda row: (row.figures[first], row.figures)).wiring
    members = list(WIRING_FAMILIES[family].build(servers, degree, links))
    if len(members) == 1:
        return members[0]
    if objective == BALANCED:
        return min(map(judged, members), key=lambda row: (row.figures[2], row.figures)).wiring
    return min(members, key=lambda wiring: wiring_hops(wiring).average_hops)


@lru_cache(maxsize=256)
def _frontier(family: str, servers: int, degree: int, links: str, seed: int) -> tuple[JudgedWiring, ...]:
    """Return the wirings of a family that are best in something; lifted ones that are known are not searched again."""
    request = WiringRequest(servers, degree, links, family)
    if family == LIFTED and not known_wirings(servers, degree, links):
        request = replace(request, seed=seed, budget_s=quick_search_s(servers, degree))
    return search_wirings(request, word="wiring").frontier


def _stamp(path: str) -> tuple[int, int]:
    """Return what tells a file from what was at its place before."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return 0, 0  # reading says why
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=16)
def _of_file(path: str, stamp: tuple[int, int], servers: int, degree: int, links: str) -> DirectWiring:
    wiring, _ = read_wiring_file(path, links, degree, only_listed=True)
    most = int(np.bincount(wiring.arcs[1]).max())  # of a list, which says no degree
    has, asked = (wiring.servers, most, wiring.links), (servers, degree, links)
    if has != asked:
        raise InvalidInput(f"wiring: {path} joins {_numbers(*has)}; asked for {_numbers(*asked)}")
    return wiring


def _numbers(servers: int, degree: int, links: str) -> str:
    return f"{servers} servers of {degree} {links} ports"
