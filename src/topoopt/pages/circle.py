"""Where the nodes of a topology stand on a circle, and which lines join them."""

import math

from topoopt.pages.chart import CircleChart

RADIUS_OF_SWITCHES = 0.55

Cables = list[tuple[int, int]]
"""Linked pairs of nodes, each once, the smaller node first."""


def places(servers: int, nodes: int) -> list[tuple[float, float]]:
    """Return x and y of every node on the unit circle, y upward: server 0 on top, clockwise; switches inside."""
    outer = [_place(index, servers, 1.0) for index in range(servers)]
    switches = nodes - servers
    radius = RADIUS_OF_SWITCHES if switches > 1 else 0.0
    return outer + [_place(index, switches, radius) for index in range(switches)]


def ring_cables(walk: tuple[int, ...]) -> Cables:
    """Return the cables of a closed walk."""
    steps = zip(walk, (*walk[1:], walk[0]), strict=True)
    return sorted({(min(a, b), max(a, b)) for a, b in steps})


def strands(chart: CircleChart) -> tuple[list[tuple[str, Cables]], tuple[str, Cables]]:
    """Return name and cables of each ring, and of what is in none."""
    rings = [(ring.name, ring_cables(ring.walk)) for ring in chart.rings]
    in_rings = {pair for _, pairs in rings for pair in pairs}
    others = {(min(a, b), max(a, b)) for a, b, *_ in chart.links} - in_rings
    return rings, ("other links" if rings else "links", sorted(others))


def _place(index: int, count: int, radius: float) -> tuple[float, float]:
    angle = math.tau * index / count
    return radius * math.sin(angle), radius * math.cos(angle)
