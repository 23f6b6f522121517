"""Ranks: every one is in one group of each kind, numbered as the paper and Megatron-LM number them."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.transformers import GROUP_KINDS, Configuration, place_ranks, rank_numbers

DEGREE = st.sampled_from([1, 2, 3, 4])
ORDERS = ["-".join(words) for words in permutations(("tp", "cp", "ep", "dp", "pp"))]


@st.composite
def configurations(draw: st.DrawFn) -> Configuration:
    tp, cp, dp, pp = (draw(DEGREE) for _ in range(4))
    inside = tp * cp * dp
    ep = draw(st.sampled_from([size for size in range(1, inside + 1) if inside % size == 0]))
    etp = draw(st.sampled_from([size for size in range(1, inside // ep + 1) if inside // ep % size == 0]))
    return Configuration(tp=tp, pp=pp, dp=dp, cp=cp, ep=ep, etp=etp, global_batch=dp, sequence=12)


@given(configurations(), st.sampled_from(ORDERS))
def test_every_rank_is_in_one_group_of_each_kind(one: Configuration, order: str) -> None:
    ranks = rank_numbers(one, order)
    sizes = {
        "tp": one.tp,
        "cp": one.cp,
        "dp": one.dp * one.cp,
        "etp": one.etp,
        "ep": one.ep,
        "expert-dp": one.expert_dp,
        "pp": one.pp,
    }
    for kind, size in sizes.items():
        groups = ranks.groups(kind)
        assert groups.shape == (one.accelerators // size, size)
        np.testing.assert_array_equal(np.sort(groups, axis=None), np.arange(one.accelerators))


@given(configurations(), st.sampled_from(ORDERS))
def test_both_views_of_a_stage_hold_the_same_ranks(one: Configuration, order: str) -> None:
    ranks = rank_numbers(one, order)
    for dense, expert in zip(ranks.dense, ranks.expert, strict=True):
        assert set(dense.ravel().tolist()) == set(expert.ravel().tolist())


@given(configurations())
def test_ranks_are_numbered_as_the_paper_says(one: Configuration) -> None:
    dense = rank_numbers(one).dense
    for (p, d, c, t), rank in np.ndenumerate(dense):
        assert rank == ((p * one.dp + d) * one.cp + c) * one.tp + t


def test_the_order_moves_pipeline_before_data() -> None:
    one = Configuration(tp=2, pp=2, dp=2, global_batch=2, sequence=8)
    assert rank_numbers(one).groups("pp").tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]
    ranks = rank_numbers(one, "tp-cp-ep-pp-dp")
    assert ranks.groups("pp").tolist() == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert ranks.groups("dp").tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]


def test_whole_experts_spread_over_tensor_and_data_ranks() -> None:
    ranks = rank_numbers(Configuration(tp=4, pp=2, dp=2, ep=8, global_batch=2, sequence=8))
    assert ranks.groups("ep").tolist() == [list(range(8)), list(range(8, 16))]
    cut = rank_numbers(Configuration(tp=4, pp=1, dp=4, ep=2, etp=4, global_batch=4, sequence=8))
    assert cut.groups("etp").tolist() == cut.groups("tp").tolist()
    assert cut.groups("ep")[0].tolist() == [0, 4]
    assert cut.groups("expert-dp")[0].tolist() == [0, 8]


def test_embedding_groups_join_the_ends_of_the_pipeline() -> None:
    one = Configuration(tp=2, pp=3, dp=1, global_batch=1, sequence=8)
    assert rank_numbers(one).groups("embedding").tolist() == [[0, 4], [1, 5]]


def test_ranks_fill_servers_in_order_or_as_said() -> None:
    assert place_ranks(6, 4).tolist() == [0, 0, 0, 0, 1, 1]
    assert place_ranks(4, 2, np.array([3, 2, 1, 0])).tolist() == [1, 1, 0, 0]
    with pytest.raises(InvalidInput, match=r"slots must hold each of 0..3 once"):
        place_ranks(4, 2, [0, 1, 1, 2])


@pytest.mark.parametrize("order", ["tp-dp-pp", "tp-cp-ep-dp-dp", "", "pp"])
def test_an_order_names_each_dimension_once(order: str) -> None:
    with pytest.raises(InvalidInput, match="such as tp-cp-ep-dp-pp"):
        rank_numbers(Configuration(tp=1, pp=1, dp=1, global_batch=1, sequence=1), order)


def test_an_unknown_group_is_refused() -> None:
    ranks = rank_numbers(Configuration(tp=1, pp=1, dp=2, global_batch=2, sequence=1))
    with pytest.raises(InvalidInput, match='group: unknown name "dpp"'):
        ranks.groups("dpp")
    assert all(len(ranks.groups(kind)) for kind in GROUP_KINDS)
