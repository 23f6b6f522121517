"""The noun PortedLinks: which port of which server every link takes, so that each panel joins ports of its own."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.topologies.direct_wiring import DirectWiring


@dataclass(frozen=True, eq=False)
class PortedLinks:
    """Cables, each once, or fibers one way, with the ports at their ends.

    Attributes
    ----------
    src, src_port, dst, dst_port : int64 arrays, shape (links,)
    interfaces_per_panel : int
        Ports k·w .. k·w + w - 1 of every server go to panel k. 1 where the links are perfect matchings (cables) or
        permutations (fibers, by König's theorem), 2 where cables need two (Petersen's); all of them where no
        division was looked for.
    """

    src: Ints
    src_port: Ints
    dst: Ints
    dst_port: Ints
    interfaces_per_panel: int


def ports_by_rings(wiring: DirectWiring) -> PortedLinks | None:
    """Return the ports where rings use every link: a ring of an even number of servers is two matchings."""
    if wiring.idle_interfaces:
        return None
    if wiring.links == "directed":
        columns = [_fibers(ring.walk, port) for port, ring in enumerate(wiring.rings)]
        return _joined(columns, 1) if len(columns) == wiring.degree else None
    halves = [ring for ring in wiring.rings if ring.share < 1.0]
    whole = [ring for ring in wiring.rings if ring.share == 1.0]
    used = 2 * len(whole) + (3 if halves else 0)
    if used != wiring.degree:
        return None
    even = wiring.servers % 2 == 0
    columns = []
    if halves:  # two of the three matchings are the first ring, the third every other cable of the second
        columns.append(_cables(halves[0].walk, 0, even))
        walk = halves[1].walk
        third = np.full(wiring.servers // 2, 2)
        columns.append((walk[::2], third, walk[1::2], third))
    columns += [_cables(ring.walk, 2 * index + len(halves), even) for index, ring in enumerate(whole)]
    return _joined(columns, 1 if even else 2)


def ports_in_order(wiring: DirectWiring) -> PortedLinks:
    """Return the links with the ports of every server taken in the order of its neighbors, as they come."""
    src, dst = wiring.arcs
    if wiring.links == "directed":
        return PortedLinks(src, _nth(src), dst, _nth(dst), wiring.degree)
    once = src < dst
    src, dst = src[once], dst[once]
    ends = _nth(np.stack([src, dst], axis=1).ravel()).reshape(-1, 2)
    return PortedLinks(src, ends[:, 0], dst, ends[:, 1], wiring.degree)


_Columns = tuple[Ints, Ints, Ints, Ints]


def _cables(walk: Ints, port: int, even: bool) -> _Columns:
    """Return the cables of a ring: by turns on two ports, or from the one to the other port."""
    second = np.arange(len(walk)) % 2 if even else np.zeros(len(walk), np.int64)
    here = port + second
    return walk, here, np.roll(walk, -1), here if even else here + 1


def _fibers(walk: Ints, port: int) -> _Columns:
    ports = np.full(len(walk), port)
    return walk, ports, np.roll(walk, -1), ports


def _joined(columns: list[_Columns], interfaces_per_panel: int) -> PortedLinks:
    src, src_port, dst, dst_port = (np.concatenate(part) for part in zip(*columns, strict=True))
    return PortedLinks(src, src_port, dst, dst_port, interfaces_per_panel)


def _nth(values: Ints) -> Ints:
    """Return how often each value stood before."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    place = np.arange(len(values)) - np.searchsorted(ranked, ranked)
    nth = np.empty(len(values), np.int64)
    nth[order] = place
    return nth
