"""Wirings of all servers: by the name of a family, from a wiring file, or as the network of their rings."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.base.errors import InvalidInput, check_known, shown
from topoopt.catalog import ClusterSpec
from topoopt.finder.select_permutations import select_permutations
from topoopt.routing import CoinTable, coin_change_mod
from topoopt.topologies import WIRING_FAMILIES, DirectWiring, moore_average_hops, stride_offsets, wiring_hops
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

LISTED = "given"


@shows_itself
@dataclass(frozen=True, slots=True)
class RingNetwork:
    """Rings of all servers, and the shortest paths over them.

    Attributes
    ----------
    degree : int
        Ports of a server.
    rule : str
        The rule that chose the strides, or ``given``.
    strides : tuple of int
        Stride p is the ring i → i + p.
    table : CoinTable
        Fewest links to each distance, and which.
    """

    servers: int
    degree: int
    links: str
    rule: str
    strides: tuple[int, ...]
    table: CoinTable

    @property
    def hop_histogram(self) -> dict[int, int]:
        """Ordered pairs of servers by distance, as in a plan; from each server it looks the same."""
        counts = self.table.histogram().tolist()
        return {hops: self.servers * count for hops, count in enumerate(counts) if hops}

    @property
    def moore_average_hops(self) -> float:
        """Lower bound on the mean hops of any wiring with these ports (Moore)."""
        return moore_average_hops(self.servers, self.degree, self.links)

    def coins(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield each distance and the strides that lead there."""
        for distance in range(1, self.servers):
            yield distance, tuple(self.table.sequence(distance))

    def to_json(self) -> dict[str, Any]:
        """Return the network as a mapping."""
        return {
            **fields_of(self, "servers", "degree", "links", "rule"),
            "strides": list(self.strides),
            **fields_of(self.table, "diameter", "average_hops"),
            "moore_average_hops": self.moore_average_hops,
            "hop_histogram": {str(hops): pairs for hops, pairs in self.hop_histogram.items()},
            "coins": {str(distance): list(steps) for distance, steps in self.coins()},
        }

    def to_frame(self) -> Frame:
        """Return a row for each distance in links, as pandas has it."""
        return frame({"hops": hops, "pairs": pairs} for hops, pairs in self.hop_histogram.items())


STRIDES = "strides"
"""Wiring of TopologyFinder in the paper: rings along strides, chosen by a separate rule."""
WIRING_NAMES = (STRIDES, *FAMILY_NAMES)
"""Names of wirings; a family's may have an objective behind a colon, as in ``lifted:balanced``."""
BALANCED = OBJECTIVES[1]
_ONLY_SYMMETRIC, _SYMMETRIC = 512, ("circulant", "torus", "twisted-torus")
"""Servers from which on fewer families are tried unasked: judging and routing those without symmetry takes seconds."""


def check_wiring_name(name: str) -> None:
    """Refuse a name that is neither a family nor looks like a file.

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
        If the family has none for these servers and interfaces.
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
    """Return the names of wirings that exist for these servers and interfaces, besides strides."""
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
    """Return the file's identity, to detect changes."""
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


def ring_network(
    servers: int, degree: int | None = None, *, links: str = "duplex", strides: str | Sequence[int] = "best"
) -> RingNetwork:
    """Choose the rings of all servers by a rule, or take them from a list.

    Raises
    ------
    InvalidInput
        If the degree is missing where a rule chooses, a stride is none, or the strides take too many ports.
    """
    listed = listed_strides(strides)
    ClusterSpec(servers, 1 if degree is None else degree, 1e9, links=links)  # refuses what cannot be wired
    if not listed and degree is None:
        raise InvalidInput("degree: missing; give the ports of a server, such as 4")
    rule = LISTED if listed else str(strides)
    chosen = listed or select_permutations(servers, degree or 0, links=links, rule=rule)
    offsets = stride_offsets(servers, chosen, links)
    if degree is not None and len(offsets) > degree:
        named = ",".join(map(str, chosen))
        raise InvalidInput(
            f"strides: {named} take {len(offsets)} {links} ports of a server, got degree={degree}"
        )
    ports = len(offsets) if degree is None else degree
    return RingNetwork(servers, ports, links, rule, chosen, coin_change_mod(servers, offsets))


def listed_strides(strides: str | Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a list such as ``1,13``, none for the name of a rule.

    Raises
    ------
    InvalidInput
        If it is neither.
    """
    if not isinstance(strides, str):
        listed = tuple(strides)
    elif not any(character.isdigit() for character in strides):
        return ()
    else:
        try:
            listed = tuple(int(word) for word in strides.split(","))
        except ValueError:
            raise InvalidInput(
                f"strides: expected a rule or numbers with commas, such as 1,13, got {shown(strides)}"
            ) from None
    if not listed or min(listed) < 1:
        raise InvalidInput(f"strides: a stride must be >= 1, got {min(listed, default='none')}")
    return listed
