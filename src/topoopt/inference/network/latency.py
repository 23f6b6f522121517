"""Time to the first token and for each further one, on a fabric, in closed form, at any rate of requests."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.catalog import ClusterSpec
from topoopt.inference.kv_transfer import TransferLaw, exposed_s
from topoopt.inference.network.reach import Reach, Served
from topoopt.inference.queueing import late_wait_s, place_wait_s, prompt_wait_s
from topoopt.inference.requests import RequestLoad
from topoopt.inference.step_table import StepTable

_MOST_ITERATIONS = 60


@dataclass(frozen=True, slots=True)
class PoolLaws:
    """Speed of pools without a network, and their capacity.

    Attributes
    ----------
    prefill : StepTable
        Step table of the prefill pool.
    decode : StepTable
    places : int
        Requests that a replica of the decode pool holds.
    transfer : TransferLaw
    by_layer : bool
        Whether keys and values move while later layers are still computed.
    """

    prefill: StepTable
    decode: StepTable
    places: int
    transfer: TransferLaw
    by_layer: bool = False


@dataclass(frozen=True, slots=True)
class Expected:
    """Mean latencies of a request.

    Attributes
    ----------
    ttft_s, tpot_s : float
        Infinite where requests pile up.
    ttft_late_s : float
        90th percentile of the time to first token.
    prompt_wait_s, prompt_s, kv_s, place_wait_s : float
        Parts of the time to first token: waiting, prefill, KV transfer, waiting for a place.
    prompt_network_s, token_network_s : float
        The network's part of ``prompt_s``, and of ``tpot_s``.
    token_hops_s : float
        Part of that time spent on trips of more than one hop.
    batch : float
        Concurrent requests of a decode replica.
    prefill_busy, decode_busy, network_busy : float
        Shares of time, of places, and of the busiest link's time.
    """

    ttft_s: float
    tpot_s: float
    ttft_late_s: float
    prompt_wait_s: float
    prompt_s: float
    kv_s: float
    place_wait_s: float
    prompt_network_s: float
    token_network_s: float
    token_hops_s: float
    batch: float
    prefill_busy: float
    decode_busy: float
    network_busy: float

    @property
    def kv_share(self) -> float:
        """Share of the KV transfer in the time to first token."""
        return self.kv_s / self.ttft_s if math.isfinite(self.ttft_s) else math.nan

    @property
    def hop_share(self) -> float:
        """Share of trips of more than one hop in the time per token."""
        return self.token_hops_s / self.tpot_s if math.isfinite(self.tpot_s) else math.nan


def expected(served: Served, laws: PoolLaws, way: Reach, load: RequestLoad) -> Expected:
    """Return the mean latencies at a load.

    A combined pool stops decoding during prefill, so that a token takes longer by the share of its time that
    prompts take.
    """
    rate, deployment = load.requests_per_s, served.deployment
    others = np.minimum(rate * way.kv_busy, 1.0)
    readers, step = deployment.prefill or deployment.decode, way.prefill if deployment.prefill else way.decode
    side_by_side = readers.parallelism.attention_data  # copies of attention read a prompt each
    tokens = load.prompt_tokens * side_by_side
    prompt_s = laws.prefill.prefill_s(tokens, side_by_side, step.step_s(tokens, others))
    prompt_network_s = prompt_s - laws.prefill.prefill_s(tokens, side_by_side)
    queues = readers.replicas * side_by_side
    stages = laws.prefill.stages
    prefill_busy = rate / queues * prompt_s / stages
    stolen = 0.0 if deployment.prefill else min(prefill_busy, 1 - 1e-9)
    token_s = _token_law(served, laws, way, load, others, 1 / (1 - stolen))
    arriving = rate / deployment.decode.replicas * load.answer_tokens
    batch = _batch(token_s, arriving, laws.places)
    tpot_s = token_s(batch)
    held = arriving * tpot_s
    choices = float((way.shares > 1e-9).sum(axis=1).mean()) if way.shares.size else 1.0
    pool = max(choices, 1.0)
    parts = (
        prompt_wait_s(rate, prompt_s, stages, queues),
        prompt_s,
        _kv_s(way, laws, rate, prompt_s, served) if deployment.prefill else 0.0,
        place_wait_s(pool * laws.places, pool * held, load.answer_tokens * tpot_s),
    )
    network_busy = rate * way.busiest_s
    piles_up = network_busy >= 1 or prefill_busy >= 1 or held >= laws.places
    drafts, accepted = 1 + deployment.settings.drafted_tokens, deployment.settings.accepted_tokens
    return Expected(
        math.inf if piles_up else sum(parts),
        math.inf if piles_up else tpot_s,
        math.inf if piles_up else sum(parts[1:]) + max(parts[0], late_wait_s(rate, prompt_s, stages, queues)),
        *parts,
        prompt_network_s,
        _token_network_s(laws, way, load, others, (max(batch, 1.0), drafts)) / accepted,
        way.decode.hop_s / accepted,
        batch,
        prefill_busy,
        held / laws.places,
        network_busy,
    )


def largest_rate(
    served: Served, laws: PoolLaws, way: Reach, load: RequestLoad, ttft_s: float, tpot_s: float
) -> tuple[float, str]:
    """Return the largest rate within the objectives (p90 of TTFT, mean TPOT), and the bottleneck.

    That is a pool's time (``prefill``, ``decode``), the busiest link (``network``), an objective (``ttft``, ``tpot``),
    or ``nothing``.

    Zero with ``ttft`` or ``tpot`` where not even the first request meets the objective. Both grow with the rate.
    """

    def at(rate: float) -> Expected:
        return expected(served, laws, way, RequestLoad(rate, load.prompt_tokens, load.answer_tokens))

    def fits(one: Expected) -> bool:
        return one.ttft_late_s <= ttft_s and one.tpot_s <= tpot_s

    idle = at(0.0)
    if not fits(idle):
        return 0.0, "tpot" if idle.tpot_s > tpot_s else "ttft"
    low, high = 0.0, 1.0
    while fits(at(high)):
        low, high = high, 2 * high
        if high > 1e9:
            return low, "nothing"
    for _ in range(_MOST_ITERATIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(at(middle)) else (low, middle)
        if high - low <= 1e-4 * high:
            break
    return low, _binding(at(low), at(high), tpot_s)


def _binding(below: Expected, above: Expected, tpot_s: float) -> str:
    """Return the bottleneck just above a rate; causes precede symptoms."""
    busy = {"network": below.network_busy, "prefill": below.prefill_busy, "decode": below.decode_busy}
    fullest = max(busy, key=lambda name: busy[name])
    if busy[fullest] > 0.97:
        return fullest
    return "tpot" if above.tpot_s > tpot_s else "ttft"


def _token_law(
    served: Served, laws: PoolLaws, way: Reach, load: RequestLoad, busy: Floats, slower: float
) -> Callable[[float], float]:
    """Return the time of a token as a function of concurrent requests."""
    settings = served.deployment.settings
    length = load.prompt_tokens + load.answer_tokens / 2
    drafts = 1 + settings.drafted_tokens

    def token_s(batch: float) -> float:
        at_once = max(batch, 1.0)
        network_s = way.decode.step_s(at_once * drafts, busy)
        step_s = laws.decode.decode_s(at_once * drafts, at_once * length, network_s)
        return slower * step_s / settings.accepted_tokens

    return token_s


def _token_network_s(
    laws: PoolLaws, way: Reach, load: RequestLoad, busy: Floats, rows: tuple[float, int]
) -> float:
    """Return the network time of a step at this batch that no other half-batch hides."""
    tokens, cached = rows[0] * rows[1], rows[0] * (load.prompt_tokens + load.answer_tokens / 2)
    with_s = laws.decode.decode_s(tokens, cached, way.decode.step_s(tokens, busy))
    return with_s - laws.decode.decode_s(tokens, cached)


def _batch(token_s: Callable[[float], float], tokens_per_s: float, most: int) -> float:
    """Return the mean batch: the requests that arrive during one request's decoding, ``most`` at most."""
    if tokens_per_s * token_s(most) >= most:
        return float(most)
    low, high = 0.0, float(most)
    for _ in range(_MOST_ITERATIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if tokens_per_s * token_s(middle) >= middle else (low, middle)
        if high - low <= 1e-6 * most:
            break
    return high


def _kv_s(way: Reach, laws: PoolLaws, rate: float, prompt_s: float, served: Served) -> float:
    """Return the KV transfer's part of the time to first token, on links shared with other traffic, by processor
    sharing."""
    busy = np.where(way.kv_on_way, np.minimum(rate * way.busy, 1 - 1e-9), 0.0).max(axis=-1, initial=0.0)
    moving_s = way.kv_s / (1 - busy) / laws.transfer.efficiency
    layers, start_s = served.model.layers, laws.transfer.start_s
    whole = [
        exposed_s(start_s + one, prompt_s, layers, laws.by_layer, start_s)
        for one in moving_s.ravel().tolist()
    ]
    return float(np.dot(np.array(whole), way.shares.ravel()))


MATTERS = 0.05
"""Share of the TTFT or TPOT above which a network matters."""


@dataclass(frozen=True, slots=True)
class NetworkWorth:
    """Effect of a network on the latencies of users.

    Attributes
    ----------
    ttft_share, tpot_share : float
        Relative increase of both latencies by network time; longer queues caused by it are not included. Infinite
        where the queue grows without limit.
    kv_bps : float
        Bits a second of a server below which keys and values take longer than the prefill; 0 without any.
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
    """Return the effect of the network.

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
    """Return a reach without network time, except for the setup of transfers and the links inside servers."""
    idle = np.zeros_like(way.busy)
    prefill, decode = (
        replace(step, hop_s=0.0, link_s_per_token=np.zeros_like(step.link_s_per_token))
        for step in (way.prefill, way.decode)
    )
    return replace(way, prefill=prefill, decode=decode, kv_s=np.zeros_like(way.kv_s), busy=idle, kv_busy=idle)
