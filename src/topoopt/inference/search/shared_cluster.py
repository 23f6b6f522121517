"""A deployment among other jobs of a cluster: latencies of requests, given the observed send times."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.catalog import ClusterSpec, find_accelerator
from topoopt.inference.deployment import Deployment, Pool
from topoopt.inference.fabric_evaluation import ServingStack, prepared
from topoopt.inference.memory import cache_bytes_per_token, cache_capacity
from topoopt.inference.network.latency import PoolLaws, expected
from topoopt.inference.network.placement import laid_routes
from topoopt.inference.network.reach import Reach, Served, reach
from topoopt.inference.network.traffic import serving_traffic
from topoopt.inference.requests import Arrivals, Lengths, RequestLoad, Requests, draw_requests
from topoopt.inference.search.fabric_choice import with_network
from topoopt.inference.simulator import Fleet, Replicas, simulate_serving, uniform_transfer
from topoopt.inference.step_table import StepTable
from topoopt.routing import Fabric
from topoopt.workloads.transformer import TransformerModel

REQUESTS = 1000, 6000
"""Least and most requests of a run: six times the arrivals during one request."""

AT_ONCE_BYTES_PER_S = 1e18
"""Bandwidth of caches in the simulator; the times of sends are added to its requests afterwards."""


@dataclass(frozen=True, eq=False, slots=True)
class Service:
    """A deployment on a fabric, and its requests.

    Attributes
    ----------
    way : Reach
        Network times without other traffic.
    load : RequestLoad
    requests : Requests
    accelerator : str
    overloaded : bool
        Whether the request rate exceeds its capacity even without other jobs.
    """

    served: Served
    laws: PoolLaws
    way: Reach
    load: RequestLoad
    requests: Requests
    accelerator: str
    overloaded: bool


def service_on(
    fabric: Fabric,
    model: TransformerModel,
    deployment: Deployment,
    cluster: ClusterSpec,
    load: RequestLoad,
    *,
    stack: ServingStack,
    spread: float = 0.0,
    seed: int = 0,
) -> Service:
    """Return a deployment on a fabric with as many servers as the cluster; caches are routed evenly.

    Parameters
    ----------
    fabric
        Fabric with rings for groups of tensor parallelism over several servers.
    spread
        Standard deviation over mean of lengths.

    Raises
    ------
    Infeasible, InvalidInput
        If it does not fit, or cannot be split so.
    """
    served, laws = prepared(model, deployment, cluster, load, stack)
    served = replace(served, placement=replace(served.placement, servers=cluster.servers))
    placement = served.placement
    pairs = len(placement.prefill), len(placement.decode)
    shares = np.full(pairs, 1.0 / max(pairs[0] * pairs[1], 1))
    unit = replace(load, requests_per_s=1.0)
    traffic = serving_traffic(model, deployment, placement, unit, shares * served.kv_bytes, served.sent)
    way = reach(served, fabric, laid_routes(fabric.topology, fabric.routes), shares, traffic)
    mean = expected(served, laws, way, load)
    lasting_s = mean.ttft_s + load.answer_tokens * mean.tpot_s
    overloaded = not np.isfinite(lasting_s)
    count = REQUESTS[0] if overloaded else round(6 * lasting_s * load.requests_per_s)
    prompts, answers = Lengths(load.prompt_tokens, spread=spread), Lengths(load.answer_tokens, spread=spread)
    drawn = draw_requests(
        Arrivals(), min(max(count, REQUESTS[0]), REQUESTS[1]), load.requests_per_s, prompts, answers, seed
    )
    return Service(served, laws, way, load, drawn, cluster.accelerator, overloaded)


def answer_times(service: Service, send_s: Mapping[float, float], slowness: float) -> tuple[Floats, Floats]:
    """Return seconds to the first token and for each further one, of requests once the fleet is as busy as it gets.

    The simulator models steps and queues; the transfer times of caches are added, the longest sends with the longest
    prompts.

    Parameters
    ----------
    send_s
        Seconds in which keys and values of a request were sent at nominal rate, and how often; none of one pool.
    slowness
        Factor on the times of exchanges of experts, stages and split layers, relative to no other jobs.
    """
    requests = service.requests
    served, laws, way = service.served, service.laws, service.way
    deployment = served.deployment
    busy = np.minimum(service.load.requests_per_s * way.kv_busy, 1.0)
    decoding, reading = (
        replace(step, link_s_per_token=slowness * step.link_s_per_token) for step in (way.decode, way.prefill)
    )
    if deployment.prefill is None:
        table = with_network(laws.decode, decoding, decoding, busy)
        fleet = Fleet(
            deployment.mode, _replicas(service, deployment.decode, table), settings=deployment.settings
        )
    else:
        decode = _replicas(service, deployment.decode, with_network(laws.decode, decoding, None, busy))
        prefill = _replicas(service, deployment.prefill, with_network(laws.prefill, None, reading, busy))
        each = cache_bytes_per_token(served.model, deployment.settings.kv_precision)
        replicas = deployment.decode.replicas + deployment.prefill.replicas
        transfer = uniform_transfer(replicas, 0.0, AT_ONCE_BYTES_PER_S, each)
        fleet = Fleet(deployment.mode, decode, prefill, deployment.settings, transfer=transfer)
    run = simulate_serving(fleet, requests)
    kept = slice(len(requests) // 3, -(len(requests) // 6))  # the first find nobody, the last leave nobody
    ttft_s = run.ttft_s
    if send_s:
        law = service.laws.transfer
        # a send for each request: quantiles of those seen, in order of prompts, at random among equal ones
        chance = np.random.default_rng(len(requests)).random(len(requests))
        rank = np.empty(len(requests), np.int64)
        rank[np.lexsort((chance, requests.input_tokens))] = np.arange(len(requests))
        times_s = np.array(sorted(send_s))
        below = np.cumsum([send_s[time_s] for time_s in times_s.tolist()])
        place = np.searchsorted(below, (rank + 0.5) / len(requests) * below[-1])
        by_length = np.asarray(times_s[np.minimum(place, len(times_s) - 1)])
        ttft_s = ttft_s + law.start_s + by_length / law.efficiency
    return ttft_s[kept], run.tpot_s[kept]


def _replicas(service: Service, pool: Pool, table: StepTable) -> Replicas:
    settings, load = service.served.deployment.settings, service.load
    part = find_accelerator(service.accelerator)
    length = round(load.prompt_tokens + load.answer_tokens)
    room = cache_capacity(service.served.model, part, pool.parallelism, settings, length)
    budget = max(pool.token_budget, round(load.prompt_tokens) * pool.parallelism.attention_data)
    pages = max(int(room.request_tokens) // settings.page_tokens, 1)
    return Replicas(replace(pool, token_budget=budget), table, pages)
