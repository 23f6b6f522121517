"""Placement: replicas inside servers where they fit, and refused where they do not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import Infeasible
from topoopt.inference import Deployment, Parallelism, Pool
from topoopt.inference.network.placement import on_servers, place


def of(prefill: int, n_p: int, decode: int, n_d: int) -> Deployment:
    return Deployment(
        "disaggregated", Pool(Parallelism(tensor=decode), n_d), Pool(Parallelism(tensor=prefill), n_p)
    )


def test_pools_have_servers_of_their_own_where_there_are_enough() -> None:
    placed = place(of(4, 1, 4, 1), 8, 2)
    assert (placed.prefill.tolist(), placed.decode.tolist()) == ([[0] * 4], [[1] * 4])
    assert place(of(4, 1, 4, 1), 8, 1).servers == 1


def test_a_large_replica_begins_on_a_server_of_its_own() -> None:
    placed = place(of(4, 1, 16, 1), 8, 3)
    assert np.unique(placed.decode).tolist() == [1, 2]


@given(
    st.sampled_from([1, 2, 4, 8, 16]), st.integers(1, 9), st.sampled_from([1, 2, 4, 8, 16]), st.integers(1, 9)
)
def test_no_two_replicas_share_an_accelerator_and_small_ones_lie_on_one_server(
    p: int, n_p: int, d: int, n_d: int
) -> None:
    placed = place(of(p, n_p, d, n_d), 8, 64)
    used = np.bincount(
        np.concatenate((placed.prefill.ravel(), placed.decode.ravel())), minlength=placed.servers
    )
    assert used.max() <= 8
    assert used.sum() == p * n_p + d * n_d
    for ranks in (placed.prefill, placed.decode):
        shares = on_servers(ranks, placed.servers)
        assert shares.sum(axis=1) == pytest.approx(1.0)
        assert ((shares > 0).sum(axis=1) == max(1, ranks.shape[1] // 8)).all()


def test_too_few_servers_are_named() -> None:
    with pytest.raises(Infeasible, match=r"servers: 48 accelerators of 8 a server lie on 6 servers.*got 4"):
        place(of(8, 3, 8, 3), 8, 4)
