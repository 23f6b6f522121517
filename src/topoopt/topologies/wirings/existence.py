"""Which families have a wiring for so many servers and interfaces, and where the nearest is if one has none."""

from collections.abc import Iterator
from dataclasses import replace

from topoopt.base.errors import Infeasible, check_known
from topoopt.topologies.families.regular import WIRING_FAMILIES
from topoopt.topologies.wirings.request import BEST, LIFTED, WiringRequest

FAMILY_NAMES = tuple(sorted((*WIRING_FAMILIES, LIFTED)))
"""All families, that of the search among them."""

_FARTHEST = 4096  # servers more or fewer
_MORE_PORTS = 16


def exists(family: str, servers: int, degree: int, links: str) -> bool:
    """Return whether the family has a wiring in which every server uses all its interfaces."""
    if family == LIFTED:
        odd = links == "duplex" and degree % 2
        return (3 if odd else 2 if links == "duplex" else 1) <= degree < servers and not (odd and servers % 2)
    return WIRING_FAMILIES[family].exists(servers, degree, links)


def families_of(request: WiringRequest, word: str = "family") -> tuple[str, ...]:
    """Return the families to look at; ``word`` is what the one who asks calls a family.

    Raises
    ------
    InvalidInput
        For an unknown name.
    Infeasible
        If the one that is asked for does not exist, with the nearest numbers at which it does.
    """
    servers, degree, links = request.servers, request.degree, request.links
    if request.family == BEST:
        return tuple(family for family in FAMILY_NAMES if exists(family, servers, degree, links))
    check_known(word, request.family, (BEST, *FAMILY_NAMES))
    if exists(request.family, servers, degree, links):
        return (request.family,)
    near = [f"{n} servers of {d} interfaces" for n, d in (*_nearest(request),) or _other_in_both(request)]
    there = " and ".join(near) if near else f"none near; use {word}={LIFTED}"
    raise Infeasible(
        f"{word} {request.family}: there is none for {servers} servers of {degree} {links} interfaces; nearest: {there}"
    )


def _nearest(request: WiringRequest) -> Iterator[tuple[int, int]]:
    """Yield the nearest servers below and above for the degree, and the nearest degree for the servers."""
    family, servers, degree, links = request.family, request.servers, request.degree, request.links
    for way in (-1, 1):
        for more in range(1, _FARTHEST):
            if servers + way * more > 1 and exists(family, servers + way * more, degree, links):
                yield servers + way * more, degree
                break
    for more in range(1, _MORE_PORTS):
        for ports in (degree - more, degree + more):
            if ports > 0 and exists(family, servers, ports, links):
                yield servers, ports
                return


def _other_in_both(request: WiringRequest) -> Iterator[tuple[int, int]]:
    """Yield the nearest servers of the nearest degree at which there are any, both others than those asked for."""
    for more in range(1, _MORE_PORTS):
        for ports in (request.degree - more, request.degree + more):
            for other in _nearest(replace(request, degree=ports)) if 0 < ports < request.servers else ():
                if other[1] == ports:
                    yield other
                    return
