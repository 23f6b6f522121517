"""What a served model sends in a while, as tasks: requests that come at random, each followed by its keys and values.

Serving has no iteration. A *cycle* of some dozen requests stands for its load, over and over: it lasts as long whatever
the network does, and what is sent in it begins when requests come, not when others are done. Sharing links therefore
never shortens or rotates it; what changes is how long its sends are under way.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.inference import Placement, ServingTraffic
from topoopt.simulation import (
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    TRANSFER,
    TaskGraph,
    TaskRows,
    task_graph_from_edges,
)

REQUESTS = 48
"""Of a cycle: enough for bursts of several at once."""
SHORTEST_S, LONGEST_S = 1.0, 120.0
"""A cycle with very many, or very few requests."""
QUIET = 0.05
"""Share of a cycle at its end in which no request comes, so that its last sends end within it."""
REQUEST = 0
"""Operator of the tasks that are keys and values of a request; all others have none."""
STEADY_PARTS = 8
"""Times in a cycle that what experts and stages exchange is sent: it flows all the time."""


@dataclass(frozen=True, slots=True, eq=False)
class ServedLoad:
    """What requests need of the network.

    Attributes
    ----------
    rate_per_s : float
    kv_bytes : array (requests,) of float
        Keys and values on the wire, of requests as they come; none where one pool does all.
    """

    rate_per_s: float
    kv_bytes: Floats

    @property
    def cycle_s(self) -> float:
        """How long the requests take to come."""
        return float(np.clip(REQUESTS / self.rate_per_s, SHORTEST_S, LONGEST_S))


def cycle_graph(
    placement: Placement, load: ServedLoad, steady: ServingTraffic, servers: int, seed: int
) -> TaskGraph:
    """Return a cycle: one computation as long as it, and sends that begin when requests come.

    Prompts take turns on the replicas that read them, and any replica may answer; each server of a replica sends its
    share to every server of the other one.

    Parameters
    ----------
    steady
        What a second moves inside replicas; its keys and values are left out.
    servers
        Of the job.
    """
    cycle_s = load.cycle_s
    rows = [TaskRows(COMPUTE, 1, server=0, duration_s=cycle_s)]
    src, dst, size, at_s = _kv_sends(placement, load, np.random.default_rng(seed))
    if len(src):
        rows.append(
            TaskRows(
                TRANSFER,
                len(src),
                duration_s=at_s,
                src=src,
                dst=dst,
                size_bytes=_whole(size),
                operator=REQUEST,
            )
        )
    for part in range(STEADY_PARTS):
        begin_s = part * (1 - QUIET) * cycle_s / STEADY_PARTS
        rows += _steady_sends(steady, cycle_s / STEADY_PARTS, begin_s)
    nothing = np.zeros(0, np.int64)
    return task_graph_from_edges(servers, rows, nothing, nothing, ("keys and values",))


def _steady_sends(steady: ServingTraffic, span_s: float, begin_s: float) -> list[TaskRows]:
    """Return what experts and stages exchange in a while, and AllReduces, which go over rings."""
    rows = []
    flows = sum(
        (matrix for kind, matrix in steady.kinds.items() if kind != "kv"), np.zeros((steady.servers,) * 2)
    )
    src, dst = np.nonzero(flows)
    if len(src):
        size = _whole(flows[src, dst] * span_s)
        rows.append(TaskRows(TRANSFER, len(src), duration_s=begin_s, src=src, dst=dst, size_bytes=size))
    groups = [group for group in steady.reduces if len(group.members) > 1]
    if groups:
        size = _whole(np.array([group.size_bytes for group in groups]) * span_s)
        kinds = COLLECTIVES.index("allreduce")
        members = tuple(group.members for group in groups)
        rows.append(
            TaskRows(COLLECTIVE, len(groups), begin_s, size_bytes=size, collective=kinds, members=members)
        )
    return rows


def _whole(size: Floats) -> Ints:
    """Return bytes in whole numbers, at least one."""
    return np.maximum(np.rint(size), 1).astype(np.int64)


def _kv_sends(
    placement: Placement, load: ServedLoad, rng: np.random.Generator
) -> tuple[Ints, Ints, Floats, Floats]:
    """Return from, to, bytes and when, of every send of keys and values between servers."""
    requests = max(round(load.rate_per_s * load.cycle_s), 1) if len(placement.prefill) else 0
    at_s = np.sort(rng.random(requests)) * (1 - QUIET) * load.cycle_s
    sizes = rng.choice(load.kv_bytes, requests) if requests else np.zeros(0)
    answers = rng.integers(len(placement.decode), size=requests)
    sends: list[tuple[int, int, float, float]] = []
    for number in range(requests):
        sources, source_ranks = np.unique(
            placement.prefill[number % len(placement.prefill)], return_counts=True
        )
        ends, end_ranks = np.unique(placement.decode[answers[number]], return_counts=True)
        shares = np.outer(source_ranks / source_ranks.sum(), end_ranks / end_ranks.sum())
        for row, source in enumerate(sources.tolist()):
            for column, end in enumerate(ends.tolist()):
                if source != end:
                    sends.append((source, end, sizes[number] * shares[row, column], at_s[number]))
    columns = np.array(sends, float).reshape(-1, 4).T
    return columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2], columns[3]


def pair_rates(sent: ServingTraffic) -> Floats:
    """Return the bytes a second of every pair of servers, AllReduces as edges of rings, shape (servers, servers)."""
    moved = sent.transfers.copy()
    for group in sent.reduces:
        members = np.array(group.members)
        np.add.at(moved, (members, np.roll(members, -1)), group.wire_bytes / len(members))
    np.fill_diagonal(moved, 0.0)
    return moved
