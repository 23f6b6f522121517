"""Tori as direct wirings, plain of any number of axes and twisted: two interfaces an axis."""

from collections.abc import Iterator

import numpy as np

from topoopt.topologies.direct_wiring import DirectWiring, wiring_of_arcs
from topoopt.topologies.families.product import product_wiring
from topoopt.topologies.families.torus import torus


def tori_exist(servers: int, degree: int, links: str) -> bool:
    """Return whether there is a grid of so many axes, none of them shorter than three servers."""
    return links == "duplex" and degree % 2 == 0 and degree >= 4 and bool(_sides(servers, degree // 2))


def tori(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield the most square grid with wrap-around: a product of rings."""
    yield product_wiring("torus", [(side, (1,)) for side in _sides(servers, degree // 2)], links)


def twisted_tori_exist(servers: int, degree: int, links: str) -> bool:
    """Return whether there is a grid 2a × a (4 interfaces) or 2a × a × a (6)."""
    axes = degree // 2
    side = round((servers / 2) ** (1 / axes)) if axes in (2, 3) else 0
    return links == "duplex" and degree in (4, 6) and side > 1 and 2 * side**axes == servers


def twisted_tori(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield the torus whose long axis moves on by half where a short one is crossed."""
    made = torus(servers, float(degree), 0.0, degree // 2, degree, twisted=True)
    src, dst = (np.repeat(end, made.ports).astype(np.int64) for end in (made.src, made.dst))
    side = round((servers / 2) ** (2 / degree))
    recipe = {"sides": [2 * side] + [side] * (degree // 2 - 1)}
    yield wiring_of_arcs("twisted-torus", links, servers, degree, (src, dst), recipe)


def _sides(servers: int, axes: int, shortest: int = 3) -> tuple[int, ...]:
    """Return the sides of least sum, ascending; empty where there are none."""
    if axes == 1:
        return (servers,) if servers >= shortest else ()
    found = [
        (side, *rest)
        for side in range(shortest, round(servers ** (1 / axes)) + 1)
        if servers % side == 0 and (rest := _sides(servers // side, axes - 1, side))
    ]
    return min(found, key=sum, default=())
