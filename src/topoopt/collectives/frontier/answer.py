"""The noun of an answer about a collective: every schedule on a wiring, and what the one that was chosen did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from topoopt.base.answers import Frame, frame, shows_itself
from topoopt.base.errors import InvalidInput, unknown_name
from topoopt.collectives.frontier.bound import Bound, bound_of
from topoopt.collectives.frontier.schedules import BEST, SCHEDULES, Routed, Way
from topoopt.collectives.frontier.wiring import Wiring
from topoopt.collectives.msccl import msccl_xml
from topoopt.collectives.msccl_interpreter import MscclRun, run_msccl
from topoopt.collectives.schedule_simulator import PlayedSchedule, play
from topoopt.collectives.table import ALGORITHMS, COLLECTIVE_ALIASES
from topoopt.topologies import HopMetrics, hop_metrics


@dataclass(frozen=True, eq=False)
class Crossing:
    """From ``size_bytes`` on ``above`` is quicker than ``below``: M* = ΔT_L·α·B / ΔT_B."""

    size_bytes: float
    below: Way
    above: Way


LARGEST_BYTES = 1 << 50
"""What stands for no limit in files of MSCCL."""


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class CollectiveAnswer:
    """A collective on a wiring.

    Attributes
    ----------
    operation : str
        Name in :data:`~topoopt.collectives.frontier.OPERATIONS`.
    size_bytes : float
        M: of an all-gather what everyone has afterwards, of the others the buffer of a server.
    alpha_s : float
        What a step takes beside its bytes.
    ways : tuple of Way
        Every schedule, the quickest for this size first.
    chosen : Way
        The quickest, or of the schedule that was asked for the quickest.
    crossings : tuple of Crossing
        Where the quickest of all changes with the size.
    played : PlayedSchedule or None
        What came out when the chosen one was played; None where it has too many messages.
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
        """Return the seconds of a way, for this message or another."""
        size = self.size_bytes if size_bytes is None else size_bytes
        return way.time_s(size, self.alpha_s, self.server_bps)

    def quickest(self, schedule: str) -> Way:
        """Return the quickest way of a schedule."""
        return next(way for way in self.ways if way.schedule == schedule)

    @property
    def best_of_each(self) -> tuple[Way, ...]:
        """The quickest way of every schedule, the quickest first."""
        return tuple(self.quickest(name) for name in dict.fromkeys(way.schedule for way in self.ways))

    def sizes(self, way: Way) -> tuple[float, float] | None:
        """Return from which size to which a way is the quickest of all; None for never, infinity for always on."""
        froms = {id(crossing.above): crossing.size_bytes for crossing in self.crossings}
        tos = {id(crossing.below): crossing.size_bytes for crossing in self.crossings}
        if id(way) in froms or id(way) in tos or (not self.crossings and way is self.ways[0]):
            return froms.get(id(way), 0.0), tos.get(id(way), float("inf"))
        return None

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
        """Run a file of MSCCL, and say what arrives."""
        return run_msccl(text)

    def to_frame(self) -> Frame:
        """Return a row for each way, as pandas has it."""
        return frame(self.rows())

    def rows(self, ways: Sequence[Way] | None = None) -> list[dict[str, Any]]:
        """Return what is said of ways: steps, bytes, time, and for which sizes each is the quickest."""
        return [self._row(way) for way in (self.ways if ways is None else ways)]

    def _row(self, way: Way) -> dict[str, Any]:
        sizes = self.sizes(way)
        return {
            "schedule": way.schedule,
            "detail": way.detail,
            "steps": way.steps,
            "volume": way.volume,
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
            "wiring": self._wiring(),
            "schedule": self.chosen.schedule,
            "detail": self.chosen.detail,
            "steps": self.chosen.steps,
            "volume": self.chosen.volume,
            "time_s": self.time_s(self.chosen),
            "bound": {
                "steps": self.bound.steps,
                "volume": self.bound.volume,
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

    def _wiring(self) -> Mapping[str, Any]:
        return {
            "name": self.wiring.name,
            "servers": self.wiring.servers,
            "degree": self.wiring.ports,
            "links": self.wiring.links,
            "idle_ports": self.wiring.idle_ports,
            "bandwidth_bps": self.wiring.port_bps,
            "server_bandwidth_bps": self.server_bps,
            "diameter": self.hops.diameter,
            "average_hops": self.hops.average_hops,
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
        What a step takes beside its bytes.
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
