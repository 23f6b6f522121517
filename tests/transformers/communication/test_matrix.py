"""Matrices hold every byte that is sent, once; between servers it is that of ranks, added up."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transformers.shapes import PAPER_CONFIGURATION, PAPER_MODEL, SMALL_EXPERTS, small_model
from topoopt.base.errors import InvalidInput
from topoopt.transformers import (
    EXCHANGES,
    KINDS,
    Communication,
    Configuration,
    communications,
    place_ranks,
    rank_matrix,
    server_matrix,
    server_traffic,
    zipf_loads,
)

RING = ("allreduce", "all-gather", "reduce-scatter")


@st.composite
def jobs(draw: st.DrawFn, exchanges: tuple[str, ...] = EXCHANGES) -> tuple[tuple[Communication, ...], int]:
    """Return what some configuration of a small mixture of experts sends, and its ranks."""
    tp, cp, pp = (draw(st.sampled_from([1, 2])) for _ in range(3))
    one = Configuration(
        tp=tp,
        pp=pp,
        dp=4,
        cp=cp,
        ep=draw(st.sampled_from([1, 2, 4])),
        etp=draw(st.sampled_from([1, tp])),
        vpp=draw(st.sampled_from([1, 2])) if pp > 1 else 1,
        global_batch=16,
        sequence=64,
        recompute=draw(st.sampled_from(["none", "full"])),
        zero=draw(st.integers(0, 3)),
        sequence_parallel=draw(st.booleans()) and tp > 1,
        exchange=draw(st.sampled_from(exchanges)),
    )
    model = small_model(replace(SMALL_EXPERTS, first_dense_layers=2, every=2))
    loads = zipf_loads(model, draw(st.sampled_from([0.0, 1.0])))
    order = draw(st.sampled_from(["tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", "pp-dp-ep-cp-tp"]))
    return communications(model, one, loads, order), one.accelerators


@given(jobs())
@settings(max_examples=15)
def test_the_matrix_holds_all_that_is_sent(job: tuple[tuple[Communication, ...], int]) -> None:
    sent, ranks = job
    matrix = rank_matrix(sent, ranks)
    assert matrix.sum() == pytest.approx(sum(one.wire_bytes for one in sent), rel=1e-12)
    np.testing.assert_array_equal(matrix.diagonal(), 0.0)
    by_kind = sum(server_matrix(sent, np.arange(ranks), [kind]) for kind in KINDS)
    np.testing.assert_allclose(by_kind, matrix, rtol=1e-12)


@given(jobs(("flat",)), st.integers(1, 8), st.randoms(use_true_random=False))
@settings(max_examples=15)
def test_servers_send_what_their_ranks_send(
    job: tuple[tuple[Communication, ...], int], per_server: int, random: Random
) -> None:
    sent, ranks = job
    slots = list(range(ranks))
    random.shuffle(slots)
    places = place_ranks(ranks, per_server, slots)
    servers = int(places.max()) + 1
    belongs = np.zeros((servers, ranks))
    belongs[places, np.arange(ranks)] = 1.0
    added = belongs @ rank_matrix(sent, ranks) @ belongs.T
    np.testing.assert_allclose(server_matrix(sent, places), added, rtol=1e-12)


@given(jobs())
@settings(max_examples=15)
def test_traffic_of_servers_with_one_rank_each_is_that_of_ranks(
    job: tuple[tuple[Communication, ...], int],
) -> None:
    sent, ranks = job
    traffic = server_traffic(sent, place_ranks(ranks, 1))
    rings = sum(one.wire_bytes for one in sent if one.collective in RING)
    assert traffic.allreduce_wire_bytes == pytest.approx(rings, rel=1e-6)
    others = [one for one in sent if one.collective not in RING]
    np.testing.assert_allclose(traffic.mp_matrix(), rank_matrix(others, ranks), atol=2.0 * len(others))


def test_what_stays_inside_a_server_is_no_traffic_between_servers() -> None:
    sent = communications(PAPER_MODEL, PAPER_CONFIGURATION)
    places = place_ranks(32, 2)
    between = server_matrix(sent, places, ["tp"])
    assert between.sum() == np.trace(between) > 0
    assert server_traffic([one for one in sent if one.kind == "tp"], places).allreduce == ()


def test_gradients_of_the_ranks_of_a_server_are_added() -> None:
    """Both ranks of a tensor-parallel pair sum their halves with the same four servers."""
    sent = [one for one in communications(PAPER_MODEL, PAPER_CONFIGURATION) if one.kind == "dp"]
    groups = server_traffic(sent, place_ranks(32, 2)).allreduce
    assert {group.members for group in groups} == {tuple(range(4 * p, 4 * p + 4)) for p in range(4)}
    assert max(group.size_bytes for group in groups) == 2 * 777_236_000


def test_replicas_inside_a_server_add_up_before_they_leave_it() -> None:
    one = Configuration(tp=1, pp=1, dp=8, global_batch=8, sequence=64)
    [gradients] = communications(small_model(), one)
    [group] = server_traffic([gradients], place_ranks(8, 4)).allreduce
    assert (group.members, group.size_bytes) == ((0, 1), gradients.message_bytes)
    assert server_matrix([gradients], place_ranks(8, 4))[0, 1] == 2 * 7 / 8 * gradients.message_bytes


def test_even_exchanges_stay_groups_and_uneven_ones_are_transfers() -> None:
    model = small_model(SMALL_EXPERTS)
    one = Configuration(tp=1, pp=1, dp=8, ep=8, global_batch=8, sequence=64)
    places = place_ranks(8, 2)
    even = server_traffic(communications(model, one), places)
    assert [group.members for group in even.alltoall] == [(0, 1, 2, 3)]
    assert len(even.transfers) == 0
    uneven = server_traffic(communications(model, one, zipf_loads(model)), places)
    assert uneven.alltoall == ()
    assert len(uneven.transfers) == 12
    assert server_traffic(communications(model, one), place_ranks(8, 3)).alltoall == ()


def test_a_matrix_that_would_not_fit_is_refused() -> None:
    with pytest.raises(InvalidInput, match="9000 rows would not fit into memory; at most 8192"):
        rank_matrix((), 9000)
