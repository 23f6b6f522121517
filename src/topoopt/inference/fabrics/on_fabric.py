"""A deployment on one fabric: its wiring, routes and pairing chosen together, and what requests meet there."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import Infeasible, NoRoute
from topoopt.catalog import ClusterSpec
from topoopt.inference.network.built import serving_fabrics
from topoopt.inference.network.demand import ServingTraffic, serving_traffic
from topoopt.inference.network.laid import LaidRoutes, laid_routes
from topoopt.inference.network.latency import Expected, PoolLaws, expected, largest_rate
from topoopt.inference.network.load import RequestLoad
from topoopt.inference.network.pairing import PAIRINGS, Pairing, PairingCase, pairings
from topoopt.inference.network.reach import Reach, Served, reach
from topoopt.inference.network.worth import free_way
from topoopt.routing import Fabric

_ALIKE = 5e-3
"""Rates that differ by less are equal: what tells wirings apart then is what the network adds to a request."""


@dataclass(frozen=True, slots=True)
class FabricQuestion:
    """What a deployment is asked on every fabric.

    Attributes
    ----------
    load : RequestLoad
        With a rate of 0 the largest rate in time is looked for, and figures are those at it.
    ttft_s, tpot_s : float
        Objectives: of nine of ten first tokens, and of the mean token.
    pairings : tuple of str
        Names in ``PAIRINGS`` that the router knows.
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
        How bytes go over cables, see :data:`topoopt.inference.network.built.WAYS`.
    per_request : ServingTraffic
        What one request a second sends.
    largest_rate_per_s : float
        Requests a second that are answered in time, on the mean.
    binds : str
        What keeps it from growing.
    expected : Expected
        At the rate asked for; without one, at the largest.
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
        """Whether the rate of the load is answered in time."""
        return 0 < self.load.requests_per_s <= self.largest_rate_per_s * (1 + 1e-3)

    @property
    def idle_s(self) -> float:
        """What the network adds to a request when there is no other."""
        kv_s = float((self.reach.kv_s * self.reach.shares).sum())
        return kv_s + self.load.answer_tokens * self.expected.token_network_s

    @property
    def request_s(self) -> float:
        """Mean seconds of a whole request."""
        return self.expected.ttft_s + self.load.answer_tokens * self.expected.tpot_s


def best_on(name: str, served: Served, laws: PoolLaws, question: FabricQuestion) -> OnFabric:
    """Return the best that a fabric can be for a deployment: the largest rate in time, then the shortest request.

    At a rate that several wirings answer in time the one with the shortest request is best.

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
