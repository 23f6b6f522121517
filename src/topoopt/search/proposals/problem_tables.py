"""The tables of the kernel's Problem: candidates, times, edges, routes, rings, memory."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from topoopt.base.arrays import Ints, Ints32
from topoopt.catalog import ClusterSpec
from topoopt.collectives import (
    PACKET_BYTES,
    path_overhead,
    ring_edge_bytes,
    ring_occupancy_bytes,
    ring_overhead,
)
from topoopt.finder import lay_rings
from topoopt.jobs import Job, operators_of
from topoopt.routing import Fabric
from topoopt.search.proposals.arrays import BACKWARD_S, FORWARD_S
from topoopt.topologies import Ring, Topology
from topoopt.workloads import (
    OPTIMIZER_BYTES_PER_PARAMETER_BYTE,
    Operator,
    OperatorSplit,
    ProfileTimer,
    part_samples,
)

Choices = list[list[tuple[int, int, int]]]
CHANNEL_DIMS = ("none", "out", "in", "rows", "columns")
NOWHERE = np.full(1, -1)
MAX_CHANNEL_DEGREE = 16
"""Widest tensor or table split proposed. Wider ones multiply traffic; the bound keeps the tables small."""


def candidate_splits(job: Job, divisors: Ints, measured_only: bool) -> Choices:
    """Return the (batch degree index, channel degree index, channel dim) choices of each operator."""
    servers = job.cluster.servers
    index_of = {int(degree): index for index, degree in enumerate(divisors)}
    rows = []
    for op in operators_of(job).graph.operators:
        degrees = [int(k) for k in divisors] if "batch" in op.splits else [1]
        if measured_only:
            measured = measured_parts(job, op)
            degrees = [k for k in degrees if k in measured] or degrees
        choices = [(index_of[k], 0, 0) for k in degrees]
        if not measured_only:
            for dim in sorted(op.splits - {"batch"}, key=CHANNEL_DIMS.index):
                choices += [
                    (index_of[b], index_of[c], CHANNEL_DIMS.index(dim))
                    for b in degrees
                    for c in (int(k) for k in divisors if 1 < k <= MAX_CHANNEL_DEGREE)
                    if servers % (b * c) == 0
                ]
        rows.append(choices)
    return rows


def candidate_table(choices: Choices) -> Ints:
    """Return the choices as one array, shape (operators, most choices, 3), padded with -1."""
    table = np.full((len(choices), max(len(rows) for rows in choices), 3), -1, np.int64)
    for index, rows in enumerate(choices):
        table[index, : len(rows)] = rows
    return table


def operator_table(job: Job, choices: Choices) -> Ints:
    """Return output bytes on the wire, kind, placed or not, and number of choices of each operator."""
    kinds: dict[str, int] = {}
    factor = job.settings.embedding_bytes_factor
    return np.array(
        [
            (
                op.output_bytes_per_sample * (factor if op.is_embedding else 1),
                kinds.setdefault(op.kind, len(kinds)),
                op.is_embedding,
                len(rows),
            )
            for op, rows in zip(operators_of(job).graph.operators, choices, strict=True)
        ],
        np.int64,
    )


def cost_tables(job: Job, divisors: Ints, choices: Choices, most_rings: int) -> dict[str, Any]:
    """Return the costs of parts by (operator, batch degree, channel degree, …); see the kernel's constants.

    Degrees that are no choice of an operator cost infinite time.
    """
    shape = len(choices), len(divisors), len(divisors)
    cost, on_ring = np.zeros((*shape, 7)), np.zeros((*shape, most_rings))
    cost[..., (FORWARD_S, BACKWARD_S)] = np.inf
    seen: dict[tuple[Operator, int, int, int], tuple[list[float], list[float]]] = {}
    for index, rows in enumerate(choices):
        op = operators_of(job).graph.operators[index]
        alike = replace(op, name="", inputs=())  # equal layers are timed once
        for b, c, dim in rows:
            key = (alike, b, c, dim)
            if key not in seen:
                split = OperatorSplit(int(divisors[b]), 0, int(divisors[c]), CHANNEL_DIMS[dim])
                time, sizes = operators_of(job).time(index, split), reduced_bytes(job, op, split)
                delay_s = intra_server_delay_s(max(sizes, default=0), job.cluster)
                on_rings = ring_bytes if not job.settings.bucket_bytes else bucket_ring_bytes
                seen[key] = (
                    [time.forward_s, time.backward_s, delay_s, *_memory(job, op, split), float(sum(sizes))],
                    [on_rings(sizes, split.batch_degree, rings + 1) for rings in range(most_rings)],
                )
            cost[index, b, c], on_ring[index, b, c] = seen[key]
    return {"cost": cost, "ring_bytes": on_ring}


def reduced_bytes(job: Job, op: Operator, split: OperatorSplit) -> list[int]:
    """Return the size of each AllReduce of one part: a tensor's, or in buckets those of the operator together."""
    if op.is_embedding:
        return []
    sizes = [weight.size_bytes // split.channel_degree for weight in op.weights]
    return [sum(sizes)] if job.settings.bucket_bytes else sizes


def ring_bytes(sizes: list[int], members: int, rings: int) -> float:
    """Return the bytes of AllReduces of these sizes on each edge of each ring."""
    if members == 1:
        return 0.0
    return sum(ring_occupancy_bytes("allreduce", members, size, rings, "stepped") for size in sizes)


def bucket_ring_bytes(sizes: list[int], members: int, rings: int) -> float:
    """Return the same of tensors in a bucket with others: only that is sent in whole packets."""
    return sum(ring_edge_bytes("allreduce", members, size, rings) for size in sizes)


def intra_server_delay_s(size_bytes: int, cluster: ClusterSpec) -> float:
    """Return the AllReduce inside a server that comes first: 2·S / accelerators / bandwidth (section 5)."""
    if cluster.accelerators_per_server == 1:
        return 0.0
    return 2.0 * size_bytes / cluster.accelerators_per_server * 8 / cluster.intra_server_bandwidth_bps


def _memory(job: Job, op: Operator, split: OperatorSplit) -> tuple[float, float, float]:
    states = OPTIMIZER_BYTES_PER_PARAMETER_BYTE[job.settings.optimizer]
    outputs = op.output_bytes_per_sample * part_samples(split, job.global_batch)
    outputs /= job.cluster.accelerators_per_server
    parameters = op.parameter_bytes / split.channel_degree
    return (
        (outputs, 0.0, (1 + states) * parameters)
        if op.is_embedding
        else (outputs, (2 + states) * parameters, 0.0)
    )


def hop_overhead_s(topology: Topology) -> float:
    """Return the fixed time that one more hop adds to a transfer: two latencies and one packet."""
    slowest_bps = float(topology.bandwidth_bps.min())
    return 2 * float(topology.latency_s.max()) + PACKET_BYTES * 8.0 / slowest_bps


def edge_tables(job: Job) -> dict[str, Any]:
    """Return the graph's edges, and CSR lists of the edges into and out of each operator."""
    ends = [
        (producer, consumer)
        for consumer, op in enumerate(operators_of(job).graph.operators)
        for producer in op.inputs
    ]
    edge_ends = np.array(ends, np.int64).reshape(-1, 2)
    operators = np.arange(len(operators_of(job).graph.operators) + 1)
    into = np.argsort(edge_ends[:, 1], kind="stable")
    out_of = np.argsort(edge_ends[:, 0], kind="stable")
    return {
        "edge_ends": edge_ends,
        "first_in": np.searchsorted(edge_ends[into, 1], operators).astype(np.int64),
        "in_edge": into.astype(np.int64),
        "first_out": np.searchsorted(edge_ends[out_of, 0], operators).astype(np.int64),
        "out_edge": out_of.astype(np.int64),
    }


def most_rings_of(cluster: ClusterSpec, topology: Topology) -> int:
    """Return the most rings of a group: one per port; a full mesh has more ports than the cluster."""
    ports = np.bincount(topology.src, topology.ports)[: topology.servers]
    return max(cluster.degree, int(ports.max()))


def group_tables(
    fabric: Fabric, divisors: Ints, most_rings: int, seed: int, next_link: Ints32
) -> dict[str, Any]:
    """Return the rings of each regular group: how many, their fixed time, and which links they cross (CSR).

    Group (degree m, start s) is s, s + n/m, …; its row is ``group_first[index of m] + s``. Where there is a table of
    next links, servers are many: only groups that a turn of the wiring does not lead to have rings laid, of wirings
    without turns the first of a degree; all others have these, moved, with edges on the table's routes.
    """
    turn = _orbits(fabric) if len(next_link) > 1 else fabric.topology.servers
    topology, servers = fabric.topology, fabric.topology.servers
    first: list[int] = []
    rows: list[Ints] = []
    of_group: list[tuple[int, float]] = []
    laid: tuple[Ring, ...] = ()
    for degree in (int(k) for k in divisors):
        first.append(len(rows))
        step = servers // degree
        for start in range(step):
            if degree == 1:
                rows.append(np.zeros(0, np.int64))
                of_group.append((0, 0.0))
            elif start and is_shiftable(fabric):
                rows.append(shifted_links(topology, rows[first[-1]], start))
                of_group.append(of_group[first[-1]])
            elif start >= turn:
                like = first[-1] + start % turn
                moved = shifted_links(topology, rows[like], start - start % turn) if turn > 1 else NOWHERE
                rows.append(moved if (moved >= 0).all() else walked_links(topology, next_link, laid, start))
                of_group.append(of_group[like])
            else:
                members = tuple(range(start, servers, step))
                rings = fabric.rings.get(members) or lay_rings(
                    topology, fabric.routes, members, most_rings, seed
                )
                laid = laid if start else rings
                rows.append(np.concatenate([topology.link_ids(*ring.edges()) for ring in rings]))
                of_group.append((len(rings), ring_overhead_s(topology, rings)))
    return {
        "group_first": np.array(first, np.int64),
        "group_rings": np.array([count for count, _ in of_group], np.int64),
        "group_overhead_s": np.array([seconds for _, seconds in of_group]),
        "crossing_first": np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64),
        "crossing_link": np.concatenate(rows).astype(np.int32),
    }


def _orbits(fabric: Fabric) -> int:
    """Return after how many servers a wiring is the same again; 1 where nothing is known of it."""
    return 1 if fabric.wiring is None or fabric.wiring.group == 1 else fabric.wiring.orbits


def walked_links(topology: Topology, next_link: Ints32, rings: Sequence[Ring], shift: int) -> Ints:
    """Return the links of rings with shifted members, every edge along the single path of its pair."""
    crossed: list[Ints] = []
    for ring in rings:
        node = (np.asarray(ring.members, np.int64) + shift) % topology.servers
        target = np.roll(node, -1)
        while len(node):
            link = next_link[target, node]
            crossed.append(link.astype(np.int64))
            node = topology.dst[link].astype(np.int64)
            node, target = node[node != target], target[node != target]
    return np.concatenate(crossed)


def ring_overhead_s(topology: Topology, rings: Sequence[Ring]) -> float:
    """Return the fixed time of an AllReduce over these rings: that of the edge over most links, every round."""
    bandwidth_bps = float(topology.bandwidth_bps.min())
    latency_s = float(topology.latency_s.max())
    edge = path_overhead([bandwidth_bps] * max(longest_edge(ring) for ring in rings), latency_s)
    return ring_overhead("allreduce", len(rings[0].members), edge, "stepped").total_s


def measured_parts(job: Job, op: Operator) -> tuple[int, ...]:
    """Return the data-parallel degrees that were profiled, none without a profile."""
    timer = operators_of(job).timer
    return timer.measured_parts(op, job.global_batch) if isinstance(timer, ProfileTimer) else ()


def is_shiftable(fabric: Fabric) -> bool:
    """Return whether server s's routes and rings are server 0's, moved by s."""
    return bool(fabric.topology.offsets) and fabric.routes.method == "coin-change"


def link_of_coin(topology: Topology) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """Return the link of (server, index of offset) of a circulant."""
    servers = np.arange(topology.servers)[:, None]
    ends = (servers + np.array(topology.offsets)) % topology.servers
    starts = np.broadcast_to(servers, ends.shape)
    return topology.link_ids(starts.ravel(), ends.ravel()).reshape(ends.shape).astype(np.int32)


def coin_of_link(topology: Topology) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Return the index of each link's offset of a circulant."""
    step = (topology.dst.astype(np.int64) - topology.src) % topology.servers
    return np.searchsorted(topology.offsets, step).astype(np.int32)


def shifted_links(topology: Topology, links: Ints, shift: int) -> Ints:
    """Return the links of a circulant that lie ``shift`` servers further round."""
    src = (topology.src[links].astype(np.int64) + shift) % topology.servers
    dst = (topology.dst[links].astype(np.int64) + shift) % topology.servers
    return topology.link_ids(src, dst)


def longest_edge(ring: Ring) -> int:
    """Return the links between the two ring neighbors that are farthest apart on the walk."""
    members = set(ring.members)
    at = [position for position, node in enumerate(ring.walk) if node in members]
    return max(after - before for before, after in zip(at, [*at[1:], ring.hops + at[0]], strict=True))
