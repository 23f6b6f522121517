"""Which of several ways is the quickest for which size of message, and where one takes over from another."""

from collections.abc import Sequence
from dataclasses import dataclass

from topoopt.collectives.frontier.way import Way


@dataclass(frozen=True, eq=False)
class Crossing:
    """From ``size_bytes`` on ``above`` is quicker than ``below``: M* = ΔT_L·α·B / ΔT_B."""

    size_bytes: float
    below: Way
    above: Way


def crossing_bytes(below: Way, above: Way, alpha_s: float, server_bps: float) -> float:
    """Return the size for which two ways take equally long, of which the first has fewer steps."""
    return (above.steps - below.steps) * alpha_s * server_bps / 8.0 / (below.volume - above.volume)


def quickest_by_size(ways: Sequence[Way], alpha_s: float, server_bps: float) -> tuple[Crossing, ...]:
    """Return where the quickest changes, from small messages to large ones."""
    crossings: list[Crossing] = []
    here = min(ways, key=lambda way: (way.steps, way.volume))
    while True:
        lighter = [way for way in ways if way.volume < here.volume * (1 - 1e-12)]
        if not lighter:
            return tuple(crossings)
        sizes = [(crossing_bytes(here, way, alpha_s, server_bps), way.volume) for way in lighter]
        best = min(sizes)
        crossings.append(Crossing(best[0], here, lighter[sizes.index(best)]))
        here = crossings[-1].above
