"""A deployment on one fabric: its wiring, routes and pairing chosen together, and its latencies."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import Infeasible, NoRoute
from topoopt.catalog import ClusterSpec, find_accelerator
from topoopt.inference.deployment import Deployment, EngineSettings, Pool
from topoopt.inference.kv_transfer import TransferLaw, transfer_law
from topoopt.inference.memory import cache_capacity, cache_copies, request_cache_bytes
from topoopt.inference.network.latency import Expected, PoolLaws, expected, free_way, largest_rate
from topoopt.inference.network.placement import (
    PAIRINGS,
    LaidRoutes,
    Pairing,
    PairingCase,
    laid_routes,
    pairings,
    place,
)
from topoopt.inference.network.reach import Reach, Served, reach
from topoopt.inference.network.serving_fabrics import serving_fabrics
from topoopt.inference.network.traffic import USUAL, SentBy, ServingTraffic, serving_traffic
from topoopt.inference.requests import RequestLoad
from topoopt.inference.step.law import step_table
from topoopt.inference.step.replica import served_system
from topoopt.routing import Fabric
from topoopt.workloads.transformer import TransformerModel


@dataclass(frozen=True, eq=False, slots=True)
class ServingStack:
    """Serving software.

    Attributes
    ----------
    sent : SentBy
    transfer : TransferLaw
        Transfer of keys and values between pools.
    by_layer : bool
        Whether keys and values move while later layers are still computed, and not after the prompt.
    """

    sent: SentBy = USUAL
    transfer: TransferLaw = field(default_factory=transfer_law)
    by_layer: bool = False


_ALIKE = 5e-3
"""Rates that differ by less are equal: then the network time of a request decides between wirings."""


@dataclass(frozen=True, slots=True)
class FabricQuestion:
    """Load and objectives of a deployment on every fabric.

    Attributes
    ----------
    load : RequestLoad
        Requests. With a rate of 0, the largest rate within the objectives is searched, and figures are those at it.
    ttft_s, tpot_s : float
        Objectives: 90th percentile of the time to first token, and mean time per output token.
    pairings : tuple of str
        Names in ``PAIRINGS`` that the router supports.
    """

    cluster: ClusterSpec
    load: RequestLoad
    ttft_s: float
    tpot_s: float
    pairings: tuple[str, ...] = tuple(PAIRINGS)
    seed: int = 0

    @property
    def unit(self) -> RequestLoad:
        """One request a second."""
        return replace(self.load, requests_per_s=1.0)


@dataclass(frozen=True, eq=False, slots=True)
class OnFabric:
    """A deployment on a fabric.

    Attributes
    ----------
    way : str
        Routing over cables, see :data:`topoopt.inference.network.serving_fabrics.WAYS`.
    per_request : ServingTraffic
        Traffic at one request per second.
    largest_rate_per_s : float
        Mean requests/s that meet the objectives.
    binds : str
        Resource that limits the rate.
    expected : Expected
        Latencies at the requested rate; without one, at the largest.
    """

    fabric: Fabric
    way: str
    pairing: Pairing
    per_request: ServingTraffic
    reach: Reach
    largest_rate_per_s: float
    binds: str
    load: RequestLoad
    expected: Expected

    @property
    def in_time(self) -> bool:
        """Whether the rate of the load meets the objectives."""
        return 0 < self.load.requests_per_s <= self.largest_rate_per_s * (1 + 1e-3)

    @property
    def idle_s(self) -> float:
        """Latency that the network adds to a request when there is no other."""
        kv_s = float((self.reach.kv_s * self.reach.shares).sum())
        return kv_s + self.load.answer_tokens * self.expected.token_network_s

    @property
    def request_s(self) -> float:
        """Mean seconds of a whole request."""
        return self.expected.ttft_s + self.load.answer_tokens * self.expected.tpot_s


def best_on(name: str, served: Served, laws: PoolLaws, question: FabricQuestion) -> OnFabric:
    """Return the best that a fabric can be for a deployment: the largest rate in time, then the shortest request.

    Where several wirings serve the rate in time, the one with the shortest request is best.

    Raises
    ------
    TopoOptError
        If the fabric cannot be built.
    """
    best: OnFabric | None = None
    for one in _ways(name, served, laws, question):
        if best is None or _better(one, best, question.load.requests_per_s > 0):
            best = one
    if best is None:
        raise Infeasible(f"fabric {name}: no wiring of it joins {served.placement.servers} servers")
    return best


def share_left(on: OnFabric, served: Served, laws: PoolLaws, question: FabricQuestion) -> float:
    """Return the rate in time on a fabric over that on a network that takes no time: 0 where none is, 1 at most."""
    free, _ = largest_rate(served, laws, free_way(on.reach), question.load, question.ttft_s, question.tpot_s)
    return min(on.largest_rate_per_s / free, 1.0) if free > 0 else 0.0


def _better(one: OnFabric, other: OnFabric, at_rate: bool) -> bool:
    if at_rate and one.in_time and other.in_time:
        return one.request_s < other.request_s * (1 - 1e-9)
    faster = one.largest_rate_per_s / max(other.largest_rate_per_s, 1e-12) - 1
    return faster > _ALIKE or (faster > -_ALIKE and one.idle_s < other.idle_s)


def _ways(name: str, served: Served, laws: PoolLaws, question: FabricQuestion) -> Iterator[OnFabric]:
    everywhere = _traffic(served, question, _even(served))
    for fabric, way in serving_fabrics(name, question.cluster, served.placement, everywhere, question.seed):
        try:
            laid = laid_routes(fabric.topology, fabric.routes)
        except NoRoute:
            continue
        fixed = replace(everywhere, kinds={**everywhere.kinds, "kv": np.zeros_like(everywhere.kinds["kv"])})
        busy = reach(served, fabric, laid, _even(served), fixed).busy
        case = PairingCase(served.placement, laid, busy, served.kv_bytes)
        for pairing in pairings(case, question.pairings):
            yield _answered(served, laws, question, (fabric, way, laid), pairing)


def _answered(
    served: Served,
    laws: PoolLaws,
    question: FabricQuestion,
    on: tuple[Fabric, str, LaidRoutes],
    pairing: Pairing,
) -> OnFabric:
    fabric, way, laid = on
    traffic = _traffic(served, question, pairing.shares)
    found = reach(served, fabric, laid, pairing.shares, traffic)
    rate, binds = largest_rate(served, laws, found, question.load, question.ttft_s, question.tpot_s)
    load = question.load if question.load.requests_per_s else replace(question.load, requests_per_s=rate)
    return OnFabric(
        fabric, way, pairing, traffic, found, rate, binds, load, expected(served, laws, found, load)
    )


def _even(served: Served) -> Floats:
    shape = len(served.placement.prefill), len(served.placement.decode)
    return np.full(shape, 1.0 / max(shape[0] * shape[1], 1))


def _traffic(served: Served, question: FabricQuestion, shares: Floats) -> ServingTraffic:
    kv = shares * served.kv_bytes
    return serving_traffic(served.model, served.deployment, served.placement, question.unit, kv, served.sent)


def kv_wire_bytes(model: TransformerModel, deployment: Deployment, load: RequestLoad) -> float:
    """Return the KV-cache bytes of a prompt on the wire to decode, once for each rank with a copy."""
    copies = cache_copies(model, deployment.decode.parallelism.tensor)
    tokens, precision = round(load.prompt_tokens), deployment.settings.kv_precision
    return copies * request_cache_bytes(model, tokens, precision, 1)


def places_of(
    model: TransformerModel, accelerator: str, pool: Pool, settings: EngineSettings, load: RequestLoad
) -> int:
    """Return the most concurrent requests of a replica: its batch, or the capacity of its memory.

    Raises
    ------
    Infeasible
        If not even one fits.
    InvalidInput
        If the weights do not.
    """
    length = load.prompt_tokens + load.answer_tokens / 2
    part = find_accelerator(accelerator)
    held = cache_capacity(model, part, pool.parallelism, settings, round(length)).requests(length)
    if held < pool.parallelism.attention_data:
        raise Infeasible(
            f"{model.name}: memory of a replica holds {held} requests of {length:g} tokens, fewer than its "
            f"{pool.parallelism.attention_data} copies of attention; take more accelerators a replica"
        )
    return min(held, pool.max_batch)


def prepared(
    model: TransformerModel,
    deployment: Deployment,
    cluster: ClusterSpec,
    load: RequestLoad,
    stack: ServingStack,
) -> tuple[Served, PoolLaws]:
    """Return a deployment prepared for evaluation on every fabric.

    Raises
    ------
    Infeasible
        If it does not fit on the servers, or requests not into memory.
    InvalidInput
        If the model cannot be split so.
    """
    settings = deployment.settings
    placement = place(deployment, cluster.accelerators_per_server, cluster.servers)
    readers = deployment.prefill or deployment.decode
    prefill, decode = (
        step_table(model, cluster.accelerator, pool.parallelism, settings, fabric=served_system(cluster))
        for pool in (readers, deployment.decode)
    )
    kv_bytes = kv_wire_bytes(model, deployment, load) if deployment.prefill else 0.0
    places = places_of(model, cluster.accelerator, deployment.decode, settings, load)
    return (
        Served(model, deployment, placement, kv_bytes, stack.sent),
        PoolLaws(prefill, decode, places, stack.transfer, stack.by_layer),
    )
