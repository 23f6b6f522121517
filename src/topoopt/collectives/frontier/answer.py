"""The answer about a collective: every schedule on a wiring, and the bound that none undercuts.

The bound is of bytes that must leave a set of servers over the links that lead out of it; see
``tightest_set``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.base.errors import InvalidInput, unknown_name
from topoopt.collectives.frontier.schedules import BEST, SCHEDULES, Routed, Way
from topoopt.collectives.frontier.wiring import Wiring
from topoopt.collectives.msccl import msccl_xml
from topoopt.collectives.schedule_simulator import MscclRun, PlayedSchedule, play, run_msccl
from topoopt.collectives.table import ALGORITHMS, COLLECTIVE_ALIASES
from topoopt.collectives.tightest_set import TightSet, tightest_set
from topoopt.routing import optimal_max_load
from topoopt.topologies import HopMetrics, hop_metrics, reversed_links

LARGEST_LP = 20_000
"""Servers times links up to which the best routing of an all-to-all is computed: a second."""


@dataclass(frozen=True, slots=True)
class Bound:
    """No schedule takes fewer steps, or fewer bytes over the fullest ports, than these.

    Attributes
    ----------
    volume : float
        See :class:`~topoopt.collectives.frontier.Way`.
    why : str
        Argument for the volume.
    """

    steps: int
    volume: float
    why: str

    def time_s(self, size_bytes: float, alpha_s: float, server_bps: float) -> float:
        """Return the time for a message, seconds."""
        return self.steps * alpha_s + self.volume * size_bytes * 8.0 / server_bps


@dataclass(frozen=True, eq=False)
class Crossing:
    """Size ``size_bytes`` from which ``above`` is faster than ``below``: M* = ΔT_L·α·B / ΔT_B."""

    size_bytes: float
    below: Way
    above: Way


LARGEST_BYTES = 1 << 50
"""Value of "no limit" in MSCCL files."""


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class CollectiveAnswer:
    """A collective on a wiring.

    Attributes
    ----------
    operation : str
        Name in :data:`~topoopt.collectives.frontier.OPERATIONS`.
    size_bytes : float
        M: the result of an all-gather, and the buffer of a server otherwise.
    alpha_s : float
        Time per step besides its bytes.
    ways : tuple of Way
        Every schedule, the quickest for this size first.
    chosen : Way
        The fastest variant, of the requested schedule if there is one.
    crossings : tuple of Crossing
        Sizes at which the fastest schedule changes.
    played : PlayedSchedule or None
        Result of playing the chosen schedule; None where it has too many messages.
    left_out : tuple of str
        Schedules that were not looked at, for there are too many servers.
    """

    operation: str
    size_bytes: float
    alpha_s: float
    wiring: Wiring
    hops: HopMetrics
    bound: Bound
    ways: tuple[Way, ...]
    chosen: Way
    crossings: tuple[Crossing, ...]
    played: PlayedSchedule | None
    left_out: tuple[str, ...]

    @property
    def server_bps(self) -> float:
        """B, in bits per second."""
        return self.wiring.server_bps

    def time_s(self, way: Way | Bound, size_bytes: float | None = None) -> float:
        """Return the time of a schedule in seconds, for this message or another."""
        size = self.size_bytes if size_bytes is None else size_bytes
        return way.time_s(size, self.alpha_s, self.server_bps)

    def quickest(self, schedule: str) -> Way:
        """Return the fastest variant of a schedule."""
        return next(way for way in self.ways if way.schedule == schedule)

    @property
    def best_of_each(self) -> tuple[Way, ...]:
        """Fastest variant of every schedule, the fastest first."""
        return tuple(self.quickest(name) for name in dict.fromkeys(way.schedule for way in self.ways))

    def sizes(self, way: Way) -> tuple[float, float] | None:
        """Return the range of sizes for which a variant is the fastest of all; None for never, infinity for no
        limit."""
        froms = {id(crossing.above): crossing.size_bytes for crossing in self.crossings}
        tos = {id(crossing.below): crossing.size_bytes for crossing in self.crossings}
        if id(way) in froms or id(way) in tos or (not self.crossings and way is self.ways[0]):
            return froms.get(id(way), 0.0), tos.get(id(way), float("inf"))
        return None

    def sizes_of(self, schedule: str) -> tuple[float, float] | None:
        """Return the range of sizes for which variants of a schedule are the fastest; as :meth:`sizes`."""
        ranges = [sizes for way in self.ways if way.schedule == schedule and (sizes := self.sizes(way))]
        return (min(low for low, _ in ranges), max(high for _, high in ranges)) if ranges else None

    def msccl(self) -> str:
        """Return the chosen schedule as MSCCL's XML, run once by an interpreter that sees every shard arrive.

        Raises
        ------
        InvalidInput
            If it has too many messages for such a file.
        Infeasible
            If it has more steps than MSCCL's channels hold.
        """
        low, high = self.sizes(self.chosen) or (0.0, float("inf"))
        name = f"topoopt-{self.chosen.schedule}-{self.operation}-{self.wiring.servers}"
        text = msccl_xml(self.chosen.transfers(), name, (int(low), int(min(high, LARGEST_BYTES))))
        ran = self.run(text)
        assert ran.missing == 0, "a shard does not arrive"
        return text

    @staticmethod
    def run(text: str) -> MscclRun:
        """Run an MSCCL file on simulated buffers."""
        return run_msccl(text)

    def to_frame(self) -> Frame:
        """Return one row per variant as a pandas table."""
        return frame(self.rows())

    def rows(self, ways: Sequence[Way] | None = None) -> list[dict[str, Any]]:
        """Return one row per variant: steps, bytes, time, and the sizes for which it is the fastest."""
        return [self._row(way) for way in (self.ways if ways is None else ways)]

    def _row(self, way: Way) -> dict[str, Any]:
        sizes = self.sizes(way)
        return {
            **fields_of(way, "schedule", "detail", "steps", "volume"),
            "time_s": self.time_s(way),
            "over_bound": self.time_s(way) / self.time_s(self.bound) - 1,
            "quickest_from_bytes": None if sizes is None else sizes[0],
            "quickest_to_bytes": None if sizes is None or sizes[1] == float("inf") else sizes[1],
        }

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``topoopt collective --json``."""
        return {
            "op": self.operation,
            "bytes": self.size_bytes,
            "alpha_s": self.alpha_s,
            "wiring": {
                **fields_of(self.wiring, "name", "servers"),
                "degree": self.wiring.ports,
                **fields_of(self.wiring, "links", "idle_ports"),
                "bandwidth_bps": self.wiring.port_bps,
                "server_bandwidth_bps": self.server_bps,
                **fields_of(self.hops, "diameter", "average_hops"),
            },
            **fields_of(self.chosen, "schedule", "detail", "steps", "volume"),
            "time_s": self.time_s(self.chosen),
            "bound": {
                **fields_of(self.bound, "steps", "volume"),
                "time_s": self.time_s(self.bound),
                "why": self.bound.why,
            },
            "schedules": self.rows(),
            "crossings": [
                {"bytes": c.size_bytes, "below": _named(c.below), "above": _named(c.above)}
                for c in self.crossings
            ],
            "played": self._played(),
            "left_out": list(self.left_out),
        }

    def _played(self) -> Mapping[str, Any] | None:
        if self.played is None:
            return None
        return {
            "missing": self.played.missing,
            "messages": self.played.transfers,
            "chunks": self.played.chunks,
            "fullest_shards": [float(share) for share in self.played.shards(self.wiring.servers)],
        }


def _named(way: Way) -> str:
    return f"{way.schedule}, {way.detail}"


def crossing_bytes(below: Way, above: Way, alpha_s: float, server_bps: float) -> float:
    """Return the size at which two variants are equally fast; the first has fewer steps."""
    return (above.steps - below.steps) * alpha_s * server_bps / 8.0 / (below.volume - above.volume)


def quickest_by_size(ways: Sequence[Way], alpha_s: float, server_bps: float) -> tuple[Crossing, ...]:
    """Return the sizes at which the fastest variant changes, from small messages to large ones."""
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


MOST_PLAYED = 300
"""Servers up to which the chosen schedule is played, chunk by chunk."""


def collective_answer(
    operation: str, size_bytes: float, wiring: Wiring, alpha_s: float, schedule: str = BEST
) -> CollectiveAnswer:
    """Compare the schedules of an operation on a wiring, choose the quickest, and play it.

    Parameters
    ----------
    operation
        Name in :data:`~topoopt.collectives.frontier.OPERATIONS`.
    size_bytes
        M, as in :class:`~topoopt.collectives.frontier.CollectiveAnswer`.
    alpha_s
        Time per step besides its bytes.
    schedule
        One of those of the operation, or ``best``.

    Raises
    ------
    InvalidInput
        For an unknown operation or schedule, or a schedule for which there are too many servers.
    NoRoute
        If a server cannot reach another.
    """
    known, schedule = SCHEDULES[operation], COLLECTIVE_ALIASES.get(schedule, schedule)
    if not any(schedule in (BEST, *names) for names in SCHEDULES.values()):
        raise unknown_name("schedule", schedule, (BEST, *known))
    if schedule not in (BEST, *known):
        raise InvalidInput(f"schedule: {schedule} does no {operation}; allowed: {', '.join((BEST, *known))}")
    hops = hop_metrics(wiring.topology)  # refuses parts that are not joined
    routed = Routed(wiring)
    found = {
        name: make(routed, operation)
        for name, make in known.items()
        if name == schedule or name not in ALGORITHMS or ALGORITHMS[name].compared
    }
    if schedule != BEST and not found[schedule]:
        raise InvalidInput(
            f"schedule: {schedule} is for fewer servers than {wiring.servers}; give bfb or ring"
        )

    def time_s(way: Way) -> float:
        return way.time_s(size_bytes, alpha_s, wiring.server_bps)

    ways = sorted((way for rows in found.values() for way in rows), key=time_s)
    chosen = next(way for way in ways if schedule in (BEST, way.schedule))
    played = play(chosen.transfers()) if wiring.servers <= MOST_PLAYED else None
    assert played is None or played.missing == 0, "a shard does not arrive"
    return CollectiveAnswer(
        operation,
        size_bytes,
        alpha_s,
        wiring,
        hops,
        bound_of(operation, wiring, hops),
        tuple(ways),
        chosen,
        quickest_by_size(ways, alpha_s, wiring.server_bps),
        played,
        tuple(name for name, rows in found.items() if not rows),
    )


def bound_of(operation: str, wiring: Wiring, hops: HopMetrics) -> Bound:
    """Return the bound of an operation; an AllReduce is a reduce-scatter and an all-gather."""
    if operation == "all-to-all":
        n, topology = wiring.servers, wiring.topology
        if topology.offsets or n * len(topology) <= LARGEST_LP:
            best = optimal_max_load(topology, np.ones((n, n)) - np.eye(n))
            carried = best.lower_bound_s * wiring.port_bps / 8.0
            all_to_all = carried * wiring.ports / n, "no routing loads its fullest link less"
        else:
            # every byte takes as many links as the shortest way has, and a server has so many ports
            all_to_all = hops.average_hops * (n - 1) / n, "every byte takes its shortest way"
        return Bound(hops.diameter, *all_to_all)
    gather = tightest_set(wiring.topology)
    if operation == "all-gather":
        return Bound(hops.diameter, float(_volume(wiring, gather)), gather.why)
    scatter = gather if wiring.links == "duplex" else tightest_set(reversed_links(wiring.topology))
    if operation == "reduce-scatter":
        return Bound(hops.diameter, float(_volume(wiring, scatter)), scatter.why)
    both = float(_volume(wiring, gather) + _volume(wiring, scatter))
    return Bound(hops.diameter, both, gather.why)


def _volume(wiring: Wiring, tight: TightSet) -> Fraction:
    return tight.ratio * wiring.ports / wiring.servers
