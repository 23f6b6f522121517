"""Copies of tokens: counted by brute force, and by the published facts."""

from itertools import combinations

import numpy as np
import pytest

from topoopt.inference.network.traffic import server_copies
from topoopt.transformers import zipf_loads
from topoopt.workloads.transformer import Experts, find_transformer


def test_a_relayed_token_goes_once_to_each_server_that_has_some_of_its_experts() -> None:
    experts, servers = Experts(8, 3, 16), np.repeat(np.arange(4), 2)
    chosen = [len({expert // 2 for expert in some}) for some in combinations(range(8), 3)]
    assert server_copies(experts, servers, 4, True).sum() == pytest.approx(np.mean(chosen))


def test_without_a_relay_every_expert_gets_a_copy() -> None:
    experts, servers = Experts(8, 3, 16), np.repeat(np.arange(4), 2)
    assert server_copies(experts, servers, 4, False) == pytest.approx([0.75] * 4)


def test_group_limited_routing_meets_fewer_servers() -> None:
    experts, servers = find_transformer("deepseek-v3").experts, np.repeat(np.arange(8), 8)
    assert experts is not None
    assert server_copies(experts, servers, 8, True).sum() == pytest.approx(3.63, abs=0.01)


def test_uneven_loads_keep_the_number_of_copies() -> None:
    model = find_transformer("mixtral-8x7b")
    assert model.experts is not None
    copies = server_copies(model.experts, np.arange(8) // 4, 2, False, zipf_loads(model, 1.0))
    assert copies.sum() == pytest.approx(2.0)
    assert copies[0] != pytest.approx(copies[1], rel=1e-6)
