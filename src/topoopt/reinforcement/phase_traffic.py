"""Traffic between servers in every phase of a step: AllReduces of the rollout, exchanges of training, weights."""

from dataclasses import replace

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.reinforcement.job import RlJob
from topoopt.reinforcement.phases import RolloutPhase
from topoopt.reinforcement.weight_sync import Places, WeightTraffic
from topoopt.transformers import Configuration, communications, place_ranks, server_traffic
from topoopt.workloads import (
    AllReduceGroup,
    AllToAllGroup,
    Traffic,
    Transfers,
    merged_traffic,
    traffic_from_matrix,
)
from topoopt.workloads.transformer import TransformerModel

ACTIVATION_BYTES = 2
DISPATCH_BYTES = 1 + 4 / 128
"""Bytes per number sent to experts: 8 bits, and a scale of 4 bytes per 128 numbers."""


def rollout_traffic(job: RlJob, rollout: RolloutPhase, places: Places) -> Traffic:
    """Return the traffic of replicas that span servers: AllReduces of tensor parallelism, tokens to experts.

    A server sums its accelerators' data before it sends, and gets a token once for all of its experts.
    """
    tokens = job.tokens / rollout.replicas
    parallelism, model = rollout.parallelism, job.model
    sums = round(2 * model.layers * tokens * model.hidden * ACTIVATION_BYTES) if parallelism.tensor > 1 else 0
    reduced, exchanged = [], []
    for replica in np.split(
        places.servers_of_rollout[: rollout.replicas * parallelism.accelerators], rollout.replicas
    ):
        for stage in np.split(replica, parallelism.pipeline):
            members = tuple(sorted(set(stage.tolist())))
            if len(members) < 2:
                continue
            part = sums // parallelism.pipeline
            reduced.append(AllReduceGroup(members, part))
            if parallelism.expert > 1:
                each = expert_bytes(model, tokens, len(members)) / parallelism.pipeline
                pairs = len(members) * (len(members) - 1)
                exchanged.append(AllToAllGroup(members, round(each / pairs)))
    return merged_traffic(places.servers, reduced, exchanged)


def expert_bytes(model: TransformerModel, tokens: float, servers: int) -> float:
    """Return the bytes of tokens to experts on other servers and back; a token visits S(1-(1-1/S)^k) of S servers."""
    if model.experts is None:
        return 0.0
    hit = servers * (1 - (1 - 1 / servers) ** model.experts.per_token) * (servers - 1) / servers
    return model.moe_layers * tokens * hit * model.hidden * (DISPATCH_BYTES + ACTIVATION_BYTES)


def training_traffic(job: RlJob, configuration: Configuration, places: Places) -> Traffic:
    """Return the traffic of all optimizer steps of a step, without the passes before."""
    servers = place_ranks(configuration.accelerators, places.accelerators_per_server)
    one = server_traffic(communications(job.model, configuration), servers)
    share = job.tokens / job.max_tokens / configuration.global_batch
    return scaled(replace(one, servers=places.servers), share * job.epochs * job.trained_models)


def weights_traffic(traffic: WeightTraffic) -> Traffic:
    """Return the bytes of the weights as transfers; nothing where there is one server."""
    if len(traffic.server_bytes) < 2:
        return merged_traffic(1, ())
    return traffic_from_matrix(traffic.server_bytes)


def scaled(traffic: Traffic, factor: float) -> Traffic:
    """Return the traffic with all sizes multiplied; none of them becomes nothing."""

    def size(one: int) -> int:
        return max(1, round(one * factor))

    moved = traffic.transfers
    return merged_traffic(
        traffic.servers,
        [AllReduceGroup(group.members, size(group.size_bytes)) for group in traffic.allreduce],
        [AllToAllGroup(group.members, size(group.bytes_per_pair)) for group in traffic.alltoall],
        Transfers(moved.src, moved.dst, np.maximum(np.rint(moved.size_bytes * factor).astype(np.int64), 1)),
    )


def together(traffics: list[Traffic]) -> Traffic:
    """Return all of them at the same time."""
    transfers = [one.transfers for one in traffics]
    return merged_traffic(
        traffics[0].servers,
        [group for one in traffics for group in one.allreduce],
        [group for one in traffics for group in one.alltoall],
        Transfers(
            *(
                np.concatenate([getattr(one, name) for one in transfers])
                for name in ("src", "dst", "size_bytes")
            )
        ),
    )


def is_silent(traffic: Traffic) -> bool:
    """Return whether nothing is sent."""
    return not (traffic.allreduce or traffic.alltoall or len(traffic.transfers))


def least_s(traffic: Traffic, server_bandwidth_bps: float) -> float:
    """Return the time of the busiest server's traffic on a non-blocking network."""
    sent = np.zeros(traffic.servers)
    for group in traffic.allreduce:
        sent[list(group.members)] += group.wire_bytes / len(group.members)
    for exchange in traffic.alltoall:
        sent[list(exchange.members)] += (len(exchange.members) - 1) * exchange.bytes_per_pair
    return float(sent.max(initial=0.0)) * 8 / server_bandwidth_bps


def parts_of(traffic: Traffic) -> list[Ints]:
    """Return the servers that exchange something, in parts that have nothing to do with each other."""
    from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - slow to import

    groups = [group.members for group in traffic.allreduce] + [group.members for group in traffic.alltoall]
    src = [one for members in groups for one in members] + traffic.transfers.src.tolist()
    dst = [members[0] for members in groups for _ in members] + traffic.transfers.dst.tolist()
    graph = coo_array((np.ones(len(src)), (src, dst)), shape=(traffic.servers, traffic.servers))
    _, part = connected_components(graph, directed=False)
    active = np.unique([*src, *dst])
    return [active[part[active] == one] for one in np.unique(part[active])]


def among(traffic: Traffic, servers: Ints) -> Traffic:
    """Return the traffic among these servers, renumbered from 0."""
    number = {server: place for place, server in enumerate(servers.tolist())}
    moved = traffic.transfers
    inside = np.isin(moved.src, servers) & np.isin(moved.dst, servers)
    return merged_traffic(
        len(servers),
        [
            AllReduceGroup(tuple(number[one] for one in group.members), group.size_bytes)
            for group in traffic.allreduce
            if set(group.members) <= number.keys()
        ],
        [
            AllToAllGroup(tuple(number[one] for one in group.members), group.bytes_per_pair)
            for group in traffic.alltoall
            if set(group.members) <= number.keys()
        ],
        Transfers(
            np.searchsorted(servers, moved.src[inside]),
            np.searchsorted(servers, moved.dst[inside]),
            moved.size_bytes[inside],
        ),
    )
