"""Reach: time that a fabric adds to the steps of a deployment and to the KV transfers."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Flags, Floats
from topoopt.inference.deployment import Deployment
from topoopt.inference.network.placement import LaidRoutes, Placement, on_servers, ring_loads
from topoopt.inference.network.traffic import (
    INSIDE_BYTES_PER_S,
    USUAL,
    SentBy,
    ServingTraffic,
    exchange_law,
    pass_bytes,
    pool_traffic,
)
from topoopt.routing import Fabric
from topoopt.workloads.transformer import TransformerModel


@dataclass(frozen=True, eq=False, slots=True)
class Served:
    """Served model and deployment, whatever the fabric.

    Attributes
    ----------
    kv_bytes : float
        Keys and values of a request on the wire.
    """

    model: TransformerModel
    deployment: Deployment
    placement: Placement
    kv_bytes: float
    sent: SentBy = USUAL


@dataclass(frozen=True, eq=False, slots=True)
class StepReach:
    """Network time of a pool's step, in addition to its time without a network.

    Attributes
    ----------
    hop_s : float
        Time per step of trips longer than one hop.
    link_s_per_token : float64 array, shape (links,)
        Busy time of each link per token of each replica's step.
    inside_s_per_token : float
        Tokens of experts on links inside servers, where experts are spread over several.
    exchanges : float
        Dispatches and combines of a step that leave the server.
    """

    hop_s: float
    link_s_per_token: Floats
    inside_s_per_token: float
    exchanges: float

    def step_s(self, tokens: float, busy: Floats) -> float:
        """Return the step time at ``tokens`` per replica, on links with this load by others.

        Parameters
        ----------
        busy : float64 array, shape (links,)
            Share of time for which each link is busy with traffic other than this pool's.
        """
        if not len(busy):
            return self.hop_s + tokens * self.inside_s_per_token
        free = np.maximum(1.0 - busy, 1e-3)
        slowest = float((self.link_s_per_token / free).max())
        return self.hop_s + tokens * (slowest + self.inside_s_per_token)


@dataclass(frozen=True, eq=False, slots=True)
class Reach:
    """A deployment on a fabric.

    Attributes
    ----------
    prefill, decode : StepReach
        The first without bytes where one pool does both.
    kv_s : float64 array, shape (prefill replicas, decode replicas)
        Seconds of a request's keys and values on a free network at nominal bandwidth.
    kv_hops : float
        Mean hops of keys and values.
    kv_link_s : float64 array, shape (prefill replicas, decode replicas, links)
        Seconds of each link for them.
    busy : float64 array, shape (links,)
        Share of its time that each link needs for a request a second.
    kv_busy : float64 array, shape (links,)
        The part of it that is keys and values.
    shares : float64 array, shape (prefill replicas, decode replicas)
        Share of requests by pair of replicas.
    tax : float
        Bytes times hops over bytes: 1 where no server forwards.
    sent_bytes : float
        Bytes between servers per request.
    """

    prefill: StepReach
    decode: StepReach
    kv_s: Floats
    kv_hops: float
    kv_link_s: Floats
    busy: Floats
    kv_busy: Floats
    shares: Floats
    tax: float
    sent_bytes: float

    @property
    def kv_on_way(self) -> Flags:
        """Whether a pair's keys and values cross a link, shape (prefill replicas, decode replicas, links)."""
        return np.asarray(self.kv_link_s > 0)

    @property
    def busiest_s(self) -> float:
        """Seconds of the busiest link for a request."""
        return float(self.busy.max(initial=0.0))


def reach(
    served: Served, fabric: Fabric, laid: LaidRoutes, shares: Floats, per_request: ServingTraffic
) -> Reach:
    """Return the times that a fabric adds.

    Parameters
    ----------
    shares : float64 array, shape (prefill replicas, decode replicas)
        Share of requests by pair of replicas.
    per_request : ServingTraffic
        Traffic of one request per second with these shares.
    """
    placement, deployment = served.placement, served.deployment
    servers = placement.servers
    spans = laid.link_s_per_byte
    kv_busy = laid.loads(per_request.kinds["kv"]) * spans
    rings = ring_loads(fabric, per_request.reduces)
    busy = (laid.loads(per_request.transfers) + rings) * spans
    sources, ends = on_servers(placement.prefill, servers), on_servers(placement.decode, servers)
    between = np.einsum("pu,dv->pduv", sources, ends) * served.kv_bytes
    between[:, :, np.arange(servers), np.arange(servers)] = 0.0
    pairs = between.shape[:2]
    loads = np.array([laid.loads(one) for row in between for one in row])
    kv_link_s = np.asarray(loads.reshape(*pairs, len(laid.topology)) * laid.link_s_per_byte)
    steps = [
        _step_reach(served, prefill, fabric, laid) if there else StepReach(0.0, np.zeros(len(busy)), 0.0, 0.0)
        for prefill, there in ((True, deployment.prefill is not None), (False, True))
    ]
    hops = float((shares * (sources @ laid.hops @ ends.T)).sum()) if shares.size else 0.0
    moved = per_request.transfers
    reduced = sum(group.wire_bytes for group in per_request.reduces)
    crossed = float((moved * laid.hops).sum()) + _walked(fabric, per_request)
    total = float(moved.sum()) + reduced
    tax = crossed / total if total else 1.0
    kv_s = kv_link_s.max(axis=-1, initial=0.0)
    return Reach(steps[0], steps[1], kv_s, hops, kv_link_s, busy, kv_busy, shares, tax, total)


def _step_reach(served: Served, prefill: bool, fabric: Fabric, laid: LaidRoutes) -> StepReach:
    """Return the network time of a step with one token per replica of a pool, and of each further token."""
    model, deployment, placement, sent = served.model, served.deployment, served.placement, served.sent
    pool = deployment.prefill if prefill else deployment.decode
    assert pool is not None
    one = pool_traffic(model, deployment, placement, prefill, float(pool.replicas), sent)
    law = exchange_law()
    spread = one.kinds["experts"]
    loads = laid.loads(spread) * law.slowness
    loads += laid.loads(one.kinds["stages"]) + ring_loads(fabric, one.reduces)
    bytes_of = pass_bytes(model, pool.parallelism, sent.dispatch)
    exchanges = 2.0 * bytes_of.expert_layers if spread.any() else 0.0
    farthest = float(laid.latency_s[spread > 0].max()) if spread.any() else 0.0
    nearest = float(laid.latency_s[laid.latency_s > 0].min()) if spread.any() else 0.0
    stages = one.kinds["stages"]
    beyond = exchanges * max(farthest - nearest, 0.0)
    if stages.any():
        beyond += (pool.parallelism.pipeline - 1) * max(
            float(laid.latency_s[stages > 0].max()) - nearest, 0.0
        )
    inside = 0.0
    if spread.any() and model.experts is not None:
        ranks = placement.prefill if prefill else placement.decode
        group = ranks[0].reshape(pool.parallelism.pipeline, -1)[0]
        held = len(np.unique(group))
        copies = (
            bytes_of.expert_layers
            * model.experts.per_token
            * (bytes_of.dispatch_bytes + bytes_of.combine_bytes)
        )
        others = 1 - held / len(group)
        inside = copies / held / len(group) * others / INSIDE_BYTES_PER_S * law.inside_slowness
    return StepReach(beyond, loads * laid.link_s_per_byte, inside, exchanges)


def _walked(fabric: Fabric, traffic: ServingTraffic) -> float:
    """Return bytes times hops between servers of AllReduces along rings."""
    servers, total = fabric.topology.servers, 0.0
    for group in traffic.reduces:
        rings = fabric.rings[group.members]
        for ring in rings:
            hops = sum(node < servers for node in ring.walk) / len(ring.members)
            total += group.wire_bytes / len(rings) * hops
    return total
