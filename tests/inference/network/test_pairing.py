"""Pairings and wirings of pools: what every pairing keeps, what the linear program gains, ports never exceeded."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import Infeasible
from topoopt.inference import Deployment, Parallelism, Pool
from topoopt.inference.network.placement import PAIRINGS, PairingCase, laid_routes, pairings, place
from topoopt.inference.network.serving_fabrics import pair_wiring
from topoopt.routing import KShortestRoutes
from topoopt.topologies import hop_metrics


def case_of(prefill: int, decode: int, degree: int, across: int) -> PairingCase:
    tp8 = Parallelism(tensor=8)
    n = prefill + decode
    deployment = Deployment("disaggregated", Pool(tp8, decode), Pool(tp8, prefill))
    wiring = pair_wiring(np.arange(prefill), np.arange(prefill, n), n, degree, across)
    topology = wiring.topology(100e9)
    laid = laid_routes(topology, KShortestRoutes(topology))
    return PairingCase(place(deployment, 8, n), laid, np.zeros(len(topology)), 1e9)


def busiest(case: PairingCase, shares: np.ndarray) -> float:
    n, p = case.laid.topology.servers, len(case.placement.prefill)
    demand = np.zeros((n, n))
    demand[:p, p:] = shares * case.kv_bytes
    return float((case.laid.loads(demand) * case.laid.link_s_per_byte).max())


@settings(max_examples=40)
@given(st.integers(2, 5), st.integers(2, 6), st.integers(3, 6), st.integers(1, 4))
def test_every_pairing_loads_all_replicas_alike_and_the_program_is_never_worse(
    prefill: int, decode: int, degree: int, across: int
) -> None:
    try:
        case = case_of(prefill, decode, degree, min(across, degree))
    except Infeasible:
        return
    found = {one.name: one.shares for one in pairings(case, tuple(PAIRINGS))}
    for shares in found.values():
        assert shares.sum() == pytest.approx(1.0)
        assert shares.sum(axis=0) == pytest.approx(1 / decode, rel=0.05)
        assert shares.sum(axis=1) == pytest.approx(1 / prefill, rel=0.05)
    least = busiest(case, found.get("network-aware", found["any"]))
    for shares in found.values():
        assert least <= busiest(case, shares) * 1.001 + 1e-9


def test_neighbors_are_one_hop_away() -> None:
    case = case_of(4, 4, 3, 2)
    shares = PAIRINGS["neighbors"](case)
    assert shares is not None
    assert case.laid.hops[:4, 4:][shares > 1e-9] == pytest.approx(1.0)
    assert (shares > 1e-9).sum(axis=1).tolist() == [2, 2, 2, 2]
    anywhere = PAIRINGS["any"](case)
    assert anywhere is not None
    assert busiest(case, shares) < busiest(case, anywhere)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 9), st.integers(0, 9), st.booleans())
def test_no_server_has_more_cables_than_ports_and_all_are_joined(
    prefill: int, decode: int, degree: int, across: int, mesh: bool
) -> None:
    n = prefill + decode
    if mesh and degree < n - 1:
        return
    try:
        wiring = pair_wiring(np.arange(prefill), np.arange(prefill, n), n, degree, min(across, degree), mesh)
    except Infeasible:
        return
    topology = wiring.topology()
    ports = np.bincount(topology.src, topology.ports, minlength=n)
    assert ports.max() <= degree
    assert hop_metrics(topology).diameter < n
    if mesh and n > 1:
        assert hop_metrics(topology).diameter == 1


def test_ports_that_leave_servers_apart_are_refused() -> None:
    with pytest.raises(Infeasible, match="leave servers apart"):
        pair_wiring(np.arange(4), np.arange(4, 8), 8, 1, 1)
