"""A measured synchronization of weights: what its software takes, and what the network needs at the least."""

from dataclasses import dataclass

import numpy as np

from topoopt.catalog import find_accelerator
from topoopt.reinforcement.run_words import Row, needed, run_transport, sent_bytes, whole
from topoopt.reinforcement.shards import Shards
from topoopt.reinforcement.weight_move import WeightMove, weight_traffic
from topoopt.reinforcement.weight_transport import least_network_s, transport_for
from topoopt.reinforcement.weights import Places
from topoopt.transformers import System, usual_system

HELD = 0.9
"""Of an accelerator's memory that weights take at most, where a row does not say how many share a replica."""

USUAL_MEMORY_BYTES = 80e9
"""Of rows that name no accelerator."""


@dataclass(frozen=True, slots=True)
class SyncTime:
    """Seconds of a synchronization.

    Attributes
    ----------
    predicted_s : float
        By the software's law, or the network's least where that is longer.
    network_s : float or None
        The least on any network that gives every server its bandwidth; None where a row does not say who sends.
    """

    predicted_s: float
    network_s: float | None


def sync_time(row: Row) -> SyncTime:
    """Return what a row's weights take on their way.

    Raises
    ------
    InvalidInput
        If something that decides the time is not stated, or nothing known.
    """
    size_bytes, word = sent_bytes(row), (row.get("accelerator") or "").strip()
    memory_bytes = find_accelerator(word).memory_bytes if word else USUAL_MEMORY_BYTES
    transport = transport_for(run_transport(row), size_bytes, memory_bytes)
    if not word or (transport.by_network and whole(row, "n_acc") is None):
        if transport.by_network:
            needed(row, "n_acc")
        return SyncTime(transport.software_s(size_bytes), None)
    accelerators = whole(row, "n_acc")
    if accelerators is None:
        return SyncTime(transport.software_s(size_bytes), None)
    system = usual_system(word, accelerators=accelerators)
    network_s = _least_s(row, accelerators, size_bytes, system, memory_bytes)
    return SyncTime(transport.sync_s(size_bytes, network_s), network_s)


def _least_s(row: Row, accelerators: int, size_bytes: float, system: System, memory_bytes: float) -> float:
    """Return the seconds of the busiest server, each piece from one that holds it, once into a server that needs it.

    Senders hold equal shares: who trains with sharded weights, or the memory of all hosts.
    """
    training, rollout = whole(row, "n_train"), whole(row, "n_rollout") or accelerators
    senders = training or accelerators
    places = Places(senders, rollout, system.accelerators_per_server, training is not None)
    replica = min(
        rollout, (whole(row, "gen_tp") or _replica(size_bytes, memory_bytes)) * (whole(row, "gen_pp") or 1)
    )
    held = Shards(np.zeros(senders, np.int64), np.arange(senders), 1, senders)
    whole_replicas = rollout // replica * replica
    needs = Shards(np.zeros(whole_replicas, np.int64), np.arange(whole_replicas) % replica, 1, replica)
    move = WeightMove(
        ((size_bytes, held, needs),),
        places.servers_of_training,
        places.servers_of_rollout[:whole_replicas],
        places.servers,
    )
    per_server_bps = system.network_bandwidth_bps * system.accelerators_per_server
    return least_network_s(weight_traffic(move, "shards"), per_server_bps, system.network_latency_s)


def _replica(size_bytes: float, memory_bytes: float) -> int:
    """Return the smallest power of two of accelerators that hold all weights."""
    return 1 << max(0, int(np.ceil(np.log2(size_bytes / (HELD * memory_bytes)))))
