"""Draw the picture of the README: two rings that together make a network of few hops.

``python docs/pictures/draw_topology.py`` writes ``docs/pictures/topology.svg``. The numbers under the circles are
computed, not typed, and a test draws again to see that the committed picture is this one.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from topoopt.routing import coin_change_mod
from topoopt.topologies import circulant, hop_metrics

SERVERS = 16
STRIDES = (1, 5)
COLORS = ("#0072B2", "#D55E00")  # told apart by the color-blind, too
INK, PALE, PAPER = "#333333", "#c8c8c8", "#ffffff"
PICTURE = Path(__file__).with_name("topology.svg")
PANEL, TOP, RADIUS, DOT = 300, 175, 105, 11
WIDTH, HEIGHT = 3 * PANEL, 365


def position(server: int, panel: int) -> tuple[float, float]:
    """Where a server stands: on a circle, number 0 on top, clockwise."""
    angle = 2 * math.pi * server / SERVERS
    return PANEL * (panel + 0.5) + RADIUS * math.sin(angle), TOP - RADIUS * math.cos(angle)


def edges(stride: int) -> Iterator[tuple[int, int]]:
    """The cables of a stride."""
    return ((server, (server + stride) % SERVERS) for server in range(SERVERS))


def farthest_walk() -> list[int]:
    """A route between two servers that are as far apart as any: its servers in order."""
    table = coin_change_mod(SERVERS, circulant(SERVERS, STRIDES, 100e9).offsets)
    coins = max((table.sequence(distance) for distance in range(1, SERVERS)), key=len)
    walk = [0]
    for coin in coins:
        walk.append((walk[-1] + coin) % SERVERS)
    return walk


def line(panel: int, ends: tuple[int, int], color: str, width: float) -> str:
    (x1, y1), (x2, y2) = position(ends[0], panel), position(ends[1], panel)
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width}"/>'


def dots(panel: int, marked: Sequence[int] = ()) -> Iterator[str]:
    for server in range(SERVERS):
        x, y = position(server, panel)
        fill, ink = (INK, PAPER) if server in marked else (PAPER, INK)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DOT}" fill="{fill}" stroke="{INK}"/>'
        yield f'<text x="{x:.1f}" y="{y + 3.5:.1f}" font-size="10" fill="{ink}">{server}</text>'


def words(panel: int, title: str, *below: str) -> Iterator[str]:
    x = PANEL * (panel + 0.5)
    yield f'<text x="{x}" y="32" font-size="15" font-weight="bold">{title}</text>'
    for row, text in enumerate(below):
        yield f'<text x="{x}" y="{TOP + RADIUS + 40 + 19 * row}" font-size="13">{text}</text>'


def hops_of(strides: Sequence[int]) -> str:
    metrics = hop_metrics(circulant(SERVERS, strides, 100e9))
    return f"at most {metrics.diameter} hops, {metrics.average_hops:.2f} on average"


def draw() -> str:
    """Return the picture as SVG."""
    parts: list[str] = []
    for panel, (stride, color) in enumerate(zip(STRIDES, COLORS, strict=True)):
        parts += [line(panel, ends, color, 2) for ends in edges(stride)]
        parts += dots(panel)
        parts += words(
            panel,
            f"Ring of stride {stride}",
            "an AllReduce ring through all servers",
            f"alone: {hops_of([stride])}",
        )
    walk = farthest_walk()
    for stride, color in zip(STRIDES, COLORS, strict=True):
        parts += [line(2, ends, color, 0.8) for ends in edges(stride)]
    parts += [line(2, ends, INK, 4) for ends in itertools.pairwise(walk)]
    parts += dots(2, marked=walk)
    route = " → ".join(str(server) for server in walk)
    parts += words(2, "Both, on 4 ports a server", hops_of(STRIDES), f"a longest route: {route}")
    style = f'font-family="sans-serif" text-anchor="middle" fill="{INK}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {style}>'
    paper = f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{PAPER}" stroke="{PALE}"/>'
    return "\n".join([head, paper, *parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
