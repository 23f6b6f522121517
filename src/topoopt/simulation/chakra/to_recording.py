"""From Chakra's traces to what all ranks send, and how long each computes: one iteration."""

import numpy as np

from topoopt.simulation.chakra.schema import (
    COLL,
    COLLECTIVE_TYPES,
    COMP,
    EXACT_DURATION,
    EXACT_SIZE,
    RECV,
    SEND,
)
from topoopt.simulation.chakra.tasks import seconds, whole
from topoopt.simulation.chakra.trace import ChakraNode, ChakraTrace, ChakraTraces
from topoopt.workloads.recorded import Call, Calls, DeviceTimes, Recording

_MICRO = 1e-6
BARRIER = "barrier"
"""Moves nothing."""
KINDS = {
    "ALL_REDUCE": "allreduce",
    "REDUCE": "reduce",
    "ALL_GATHER": "all-gather",
    "BROADCAST": "broadcast",
    "ALL_TO_ALL": "all-to-all",
    "REDUCE_SCATTER": "reduce-scatter",
    "REDUCE_SCATTER_BLOCK": "reduce-scatter",
    "BARRIER": BARRIER,
}
"""Collectives by our names; a gather and a scatter do not say their root."""


def chakra_recording(traces: ChakraTraces) -> Recording:
    """Return what the traces send. A node without ``pg_name`` is for all ranks.

    ``comm_size`` is the buffer of a rank: of an all-gather its own shard, of an all-to-all what it has for all.

    Raises
    ------
    InvalidInput
        With file and node, if a kind is unknown, or a size or the other end of a message is missing.
    """
    everyone = tuple(range(len(traces.ranks)))
    groups = {**_by_nodes(traces), **{name: tuple(sorted(ranks)) for name, ranks in traces.groups.items()}}
    calls = Calls()
    for rank, trace in enumerate(traces.ranks):
        for node in trace.nodes:
            if node.type == COLL and (kind := _kind(trace, node)) != BARRIER:
                members = groups.get(_group(node), everyone)
                if rank not in members:
                    reason = f"pg_name {_group(node)}: rank {rank} is not in that group {repr(members)[:60]}"
                    raise trace.refusal(node, reason)
                calls[Call(rank, kind, members)] += _size_bytes(trace, node, kind, len(members))
            elif node.type in (SEND, RECV):
                end, name = ("comm_dst", "send") if node.type == SEND else ("comm_src", "receive")
                calls[Call(rank, name, (), whole(trace, node, end))] += whole(trace, node, "comm_size")
    devices = tuple(_device_times(trace) for trace in traces.ranks)
    return Recording(
        "Chakra's traces",
        traces.place,
        len(everyone),
        calls,
        frozenset(everyone),
        iterations=1,
        devices=devices,
    )


def _device_times(trace: ChakraTrace) -> DeviceTimes:
    """Return the computation of a rank one after the other: traces say how long nodes take, and not when they ran."""
    computing = [
        seconds(trace, node, EXACT_DURATION, node.duration_micros * _MICRO)
        for node in trace.nodes
        if node.type == COMP and not node.attributes.get("is_cpu_op")
    ]
    whole_s = sum(computing)
    return DeviceTimes(np.array([[0.0, whole_s]]), (), whole_s)


def _kind(trace: ChakraTrace, node: ChakraNode) -> str:
    number = whole(trace, node, "comm_type")
    theirs = COLLECTIVE_TYPES[number] if number < len(COLLECTIVE_TYPES) else str(number)
    if theirs not in KINDS:
        raise trace.refusal(node, f"comm_type {theirs}: expected one of {', '.join(KINDS)}")
    return KINDS[theirs]


def _size_bytes(trace: ChakraTrace, node: ChakraNode, kind: str, members: int) -> int:
    size_bytes = whole(trace, node, "comm_size")
    if kind == "all-gather":
        return whole(trace, node, EXACT_SIZE, size_bytes * members)
    return size_bytes // members if kind == "all-to-all" else size_bytes


def _group(node: ChakraNode) -> str:
    return str(node.attributes.get("pg_name", ""))


def _by_nodes(traces: ChakraTraces) -> dict[str, tuple[int, ...]]:
    """Return the ranks that have nodes for each process group."""
    found: dict[str, dict[int, None]] = {}
    for rank, trace in enumerate(traces.ranks):
        for name in {_group(node) for node in trace.nodes if node.type == COLL} - {""}:
            found.setdefault(name, {})[rank] = None
    return {name: tuple(ranks) for name, ranks in found.items()}
