"""Where the nodes of a topology stand on a circle, and which of its links make a cable."""

import math
from collections.abc import Iterable

RADIUS_OF_SWITCHES = 0.55


def places(servers: int, nodes: int) -> list[tuple[float, float]]:
    """Return x and y of every node on the unit circle, y upward: server 0 on top, clockwise; switches inside."""
    outer = [_place(index, servers, 1.0) for index in range(servers)]
    switches = nodes - servers
    radius = RADIUS_OF_SWITCHES if switches > 1 else 0.0
    return outer + [_place(index, switches, radius) for index in range(switches)]


def cables(links: Iterable[tuple[int, int, int, float]]) -> list[tuple[int, int]]:
    """Return each linked pair once, the smaller node first."""
    return sorted({(min(a, b), max(a, b)) for a, b, *_ in links})


def _place(index: int, count: int, radius: float) -> tuple[float, float]:
    angle = math.tau * index / count
    return radius * math.sin(angle), radius * math.cos(angle)
