"""How much a network matters to a deployment: beside one that takes no time, and how slow it could be."""

import math
from dataclasses import dataclass, replace

import numpy as np

from topoopt.catalog import ClusterSpec
from topoopt.inference.network.latency import PoolLaws, expected
from topoopt.inference.network.load import RequestLoad
from topoopt.inference.network.reach import Reach, Served

MATTERS = 0.05
"""Share of the time to the first token, or of a token, from which on a network is said to matter."""


@dataclass(frozen=True, slots=True)
class NetworkWorth:
    """What a network takes of the times that users see.

    Attributes
    ----------
    ttft_share, tpot_share : float
        How much longer both are for what they spend on the network; that queues are longer for it, too, is not in it.
        Infinite where requests pile up.
    kv_bps : float
        Bits a second of a server below which keys and values take longer than reading the prompt; 0 without any.
    token_bps : float
        Bits a second of a server below which a token takes 5 % longer than without a network; 0 where none does.
    """

    ttft_share: float
    tpot_share: float
    kv_bps: float
    token_bps: float

    @property
    def matters(self) -> bool:
        """Whether either is 5 % longer."""
        return max(self.ttft_share, self.tpot_share) > MATTERS


def network_worth(
    served: Served, laws: PoolLaws, way: Reach, load: RequestLoad, cluster: ClusterSpec
) -> NetworkWorth:
    """Return what a network takes.

    The bandwidths are scaled from those of the cluster on this fabric with these routes: a prefill replica sends its
    keys and values over the whole of its server's ports, if its routes lead there.
    """
    here = expected(served, laws, way, load)
    free = expected(served, laws, free_way(way), load)
    first_s = here.prompt_network_s - free.prompt_network_s + here.kv_s - free.kv_s
    token_s = max(here.token_network_s - free.token_network_s, 0.0)
    ttft = max(first_s, 0.0) / (here.ttft_s - first_s) if math.isfinite(here.ttft_s) else math.inf
    tpot = token_s / (here.tpot_s - token_s) if math.isfinite(here.tpot_s) else math.inf
    server_bps = cluster.server_bandwidth_bps
    kv_bps = token_bps = 0.0
    if served.deployment.prefill is not None and way.shares.size:
        moving_s = float((way.kv_s * way.shares).sum()) / laws.transfer.efficiency
        kv_bps = server_bps * moving_s / here.prompt_s
    by_bytes_s = here.token_network_s - here.token_hops_s - free.token_network_s
    if by_bytes_s > 1e-12 and math.isfinite(here.tpot_s):
        token_bps = server_bps * by_bytes_s / (MATTERS * (here.tpot_s - by_bytes_s))
    return NetworkWorth(ttft, tpot, kv_bps, token_bps)


def free_way(way: Reach) -> Reach:
    """Return a way that takes no time, but for the start of a transfer and the links inside servers."""
    idle = np.zeros_like(way.busy)
    prefill, decode = (
        replace(step, hop_s=0.0, link_s_per_token=np.zeros_like(step.link_s_per_token))
        for step in (way.prefill, way.decode)
    )
    return replace(way, prefill=prefill, decode=decode, kv_s=np.zeros_like(way.kv_s), busy=idle, kv_busy=idle)
