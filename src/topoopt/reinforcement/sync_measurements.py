"""A measured weight synchronization: the software's time, and the network's lower bound."""

import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.catalog import BYTES_PER_ELEMENT, DEFAULT_ACCELERATOR, find_accelerator
from topoopt.measurements import Row, text, whole
from topoopt.reinforcement.shards import Shards
from topoopt.reinforcement.weight_sync import (
    Places,
    WeightMove,
    least_network_s,
    transport_for,
    weight_traffic,
)
from topoopt.schema.files import packaged_rows
from topoopt.transformers import usual_system
from topoopt.workloads.transformer import TransformerModel, count_parameters, find_transformer

TRANSPORTS = {
    "broadcast": "checkpoint-engine",
    "p2p": "checkpoint-engine",
    "checkpoint engine": "nccl",
    "plain": "plain",
    "gloo": "gloo",
    "vllm native, nccl": "nccl",
    "rdma": "rdma",
}
"""The policy of rows that measure weight transfers, and of their predictions."""
HELD = 0.85
"""Largest share of an accelerator's memory for weights, where a row does not give the accelerators per replica."""


@dataclass(frozen=True, slots=True)
class SyncTime:
    """Seconds of a synchronization.

    Attributes
    ----------
    predicted_s : float
        Prediction by the software's model, or the network's lower bound where that is longer.
    network_s : float or None
        The least on any network that gives every server its bandwidth; None where a row has no sender.
    """

    predicted_s: float
    network_s: float | None


def sync_time(row: Row) -> SyncTime:
    """Return the predicted transfer time of a row's weights.

    Raises
    ------
    InvalidInput
        If something that decides the time is not stated, or nothing known.
    """
    size_bytes, word = sent_bytes(row), text(row, "accelerator")
    memory_bytes = find_accelerator(word or DEFAULT_ACCELERATOR).usable_memory_bytes
    transport = transport_for(run_transport(row), size_bytes, memory_bytes)
    accelerators = whole(row, "n_acc", None if transport.by_network else 0)
    if not word or not accelerators:
        return SyncTime(transport.software_s(size_bytes), None)
    system = usual_system(word, accelerators=accelerators)
    # The least on the network: that of the busiest server, each piece from one that holds it, once into a server that
    # needs it. Senders hold equal shares: who trains with sharded weights, or the memory of all hosts.
    training, rollout = whole(row, "n_train", 0), whole(row, "n_rollout", accelerators)
    senders = training or accelerators
    places = Places(senders, rollout, system.accelerators_per_server, training > 0)
    replica = min(rollout, whole(row, "gen_tp", _replica(size_bytes, memory_bytes)) * whole(row, "gen_pp", 1))
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
    network_s = least_network_s(weight_traffic(move, "shards"), per_server_bps, system.network_latency_s)
    return SyncTime(transport.sync_s(size_bytes, network_s), network_s)


def _replica(size_bytes: float, memory_bytes: float) -> int:
    """Return the smallest power of two of accelerators that hold all weights."""
    return 1 << max(0, int(np.ceil(np.log2(size_bytes / (HELD * memory_bytes)))))


def run_model(row: Row) -> TransformerModel:
    """Return the transformer that a row names, formats in parentheses left out.

    Raises
    ------
    InvalidInput
        If there is none of this name.
    """
    word = re.sub(r"\s*\(.*?\)", "", text(row, "model")).strip()
    if not word:
        raise InvalidInput("model: missing")
    return find_transformer(_names().get(word.lower(), word))


def run_policy(row: Row) -> tuple[str, float]:
    """Return the policy of a row, and its staleness.

    Raises
    ------
    InvalidInput
        If its options are unknown.
    """
    word = text(row, "policy").lower()
    stale = re.search(r"staleness\s*([\d.]+)", word)
    if stale or "async" in word:
        return "asynchronous", float(stale[1]) if stale else 0.5
    if "off" in word:
        return "one-step-off", 0.5
    if "on policy" in word or "coloc" in word:
        return "colocated", 0.5
    raise InvalidInput(f'policy: expected on policy, colocated, one step off or staleness X, got "{word}"')


def sent_bytes(row: Row) -> float:
    """Return the bytes of all weights of a row, of a model by name or by a size such as ``70B``, in its precision."""
    word = text(row, "model")
    precision = text(row, "precision").lower() or ("fp8" if "fp8" in word.lower() else "bf16")
    if precision not in BYTES_PER_ELEMENT:
        raise InvalidInput(f'precision: expected one of {", ".join(BYTES_PER_ELEMENT)}, got "{precision}"')
    size = re.fullmatch(r"([\d.]+)\s*([BT])", word)
    if size is not None:
        parameters = float(size[1]) * {"B": 1e9, "T": 1e12}[size[2]]
    else:
        parameters = float(count_parameters(run_model(row)).total)
    return parameters * BYTES_PER_ELEMENT[precision]


def run_transport(row: Row) -> str:
    """Return the transport of a row that measures how weights are brought over.

    Raises
    ------
    InvalidInput
        If its options are unknown.
    """
    word = text(row, "policy").lower()
    if word not in TRANSPORTS:
        raise InvalidInput(f'policy: expected one of {", ".join(TRANSPORTS)}, got "{word}"')
    return TRANSPORTS[word]


@cache
def _names() -> dict[str, str]:
    return {row["written"]: row["name"] for row in packaged_rows("reinforcement", "model_names")}
