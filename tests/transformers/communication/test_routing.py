"""Hierarchical all-to-alls: what servers send each other of tokens that go to each of them once."""

from dataclasses import replace

import numpy as np
import pytest

from topoopt.transformers import Configuration, communications, place_ranks, server_matrix, server_traffic
from topoopt.transformers.communication.message import expected_places
from topoopt.workloads.transformer import TransformerModel, find_transformer

ONE = Configuration(tp=1, pp=1, dp=16, ep=16, global_batch=16, sequence=4096)
PLACES = place_ranks(16, 8)


def of_experts(one: Configuration, model: TransformerModel) -> float:
    sent = communications(model, one)
    return float(server_matrix(sent, PLACES, ["ep"])[0, 1])


@pytest.mark.parametrize("name", ["qwen3-30b-a3b", "deepseek-v2"])
def test_servers_get_a_token_once(name: str) -> None:
    """Of 8 ranks' tokens k/2 copies go to the other server flat, and a token to it with P(an expert is there)."""
    model = find_transformer(name)
    experts = model.experts
    assert experts is not None
    ways = 4 * model.moe_layers  # dispatch and combine, forward and backward
    token_bytes = 8 * 4096 * model.hidden * 2 * ways
    flat = of_experts(replace(ONE, exchange="flat"), model)
    assert flat == pytest.approx(token_bytes * experts.per_token / 2)
    limits = experts.route_groups, experts.groups_per_token
    hit = expected_places(experts.count, experts.per_token, 2, *limits) / 2
    assert of_experts(ONE, model) == pytest.approx(token_bytes * hit, rel=1e-6)


def test_eight_bits_shorten_the_way_there_only() -> None:
    """1 + 4/128 bytes an element there, 2 back."""
    model = find_transformer("qwen3-30b-a3b")
    share = of_experts(replace(ONE, dispatch="fp8"), model) / of_experts(ONE, model)
    assert share == pytest.approx((1 + 4 / 128 + 2) / 4, rel=1e-6)


def test_traffic_between_servers_is_a_group_of_equal_pairs() -> None:
    model = find_transformer("qwen3-30b-a3b")
    demand = server_traffic([one for one in communications(model, ONE) if one.kind == "ep"], PLACES)
    assert len(demand.alltoall) == 1
    assert demand.alltoall[0].bytes_per_pair == pytest.approx(of_experts(ONE, model), rel=1e-6)
    np.testing.assert_array_equal(demand.alltoall[0].members, [0, 1])
