"""How far flow times are from packets, as measured on the authors' task graphs, and when not to trust that."""

from dataclasses import dataclass

import numpy as np

from topoopt.collectives import packets
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import ALL_TO_ALL, TRANSFER, TaskGraph

SOURCE = (
    "flow against packet on the authors' task graphs of 12, 16 and 128 servers at 10 to 800 Gb/s, on the ideal switch, "
    "fat-tree, circulant, expander and torus (benchmarks/flow_error.py)"
)


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """Distances of iteration times from those of packets, relative, without sign.

    Attributes
    ----------
    traffic : str
        The kind of traffic that was measured.
    median, p90, largest : float
        Over ``runs`` runs. Flow is nearly always the faster one: it knows no queues.
    source : str
        Where the figures come from.
    caution : str
        What in this run was not like the measured ones, or nothing.
    """

    traffic: str
    median: float
    p90: float
    largest: float
    runs: int
    source: str = SOURCE
    caution: str = ""


NOTHING_CONTENDS = ExpectedError(
    "nothing contends",
    0.0,
    0.0,
    0.0,
    0,
    "closed forms that packets meet to the picosecond on paths of equal length (tests/simulation/test_micro_cases.py)",
)
ALLREDUCE_ALONE = ExpectedError("AllReduce and no transfers", 0.0001, 0.0002, 0.0006, 22)
MOSTLY_ALLREDUCE = ExpectedError("AllReduce and some transfers, as DLRM", 0.019, 0.083, 0.183, 43)
MANY_TRANSFERS = ExpectedError("long backlogs of transfers, as CANDLE", 0.059, 0.150, 0.161, 21)

MANY = 0.15
"""Share of transfers in all bytes between DLRM's graphs (at most 0.11) and CANDLE's (at least 0.22)."""

WINDOW_PACKETS = 100
SHORT = 4
"""Transfers up to so many windows are over before windows have found their size."""
FAN = 3
"""Transfers of one server that start together, from which they count as a burst."""
BURST_SHARE = 0.5
"""Part of all bytes that bursts may have; in DLRM's graphs they have a tenth, and no harm comes of it."""
CAUTION = (
    "many transfers of about one window (100 packets) start together: in a synchronized all-to-all of 8 to 32 "
    "servers on a switch packets take 1.3 to 1.7 times the flow time; see the packet simulator"
)


def expected_error(result: SimResult) -> ExpectedError:
    """Return how far a result of the flow simulator may be from packets."""
    moved = _moved_bytes(result.graph)
    share = moved / result.demanded_bytes if result.demanded_bytes else 0.0
    known = ALLREDUCE_ALONE if share == 0 else MOSTLY_ALLREDUCE if share < MANY else MANY_TRANSFERS
    if burst_share(result) <= BURST_SHARE:
        return known
    return ExpectedError(
        known.traffic, known.median, known.p90, known.largest, known.runs, known.source, CAUTION
    )


def _moved_bytes(graph: TaskGraph) -> float:
    """Return the bytes of all transfers and all-to-alls."""
    away = (graph.kind == TRANSFER) & (graph.src != graph.dst)
    size = np.diff(graph.member_first)
    exchanged = np.where(
        graph.collective == ALL_TO_ALL,
        graph.size_bytes * np.maximum(size - 1, 0),
        0,
    )
    return float(graph.size_bytes[away].sum() + exchanged.sum())


def burst_share(result: SimResult) -> float:
    """Return the part of all bytes that is in short transfers of which a server starts several at once."""
    graph = result.graph
    short = (graph.kind == TRANSFER) & (graph.src != graph.dst) & (graph.size_bytes > 0)
    short &= packets(graph.size_bytes) <= SHORT * WINDOW_PACKETS
    rows = np.flatnonzero(short)
    if not len(rows) or not result.demanded_bytes:
        return 0.0
    together = np.stack([graph.src[rows].astype(np.float64), result.start_s[rows]], axis=1)
    _, group, count = np.unique(together, axis=0, return_inverse=True, return_counts=True)
    inside = rows[count[group.ravel()] >= FAN]
    return float(graph.size_bytes[inside].sum()) / result.demanded_bytes
