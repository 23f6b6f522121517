"""Traffic of a deployment: bytes of a second, summed by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.inference import Deployment, Parallelism, Pool, cache_bytes_per_token
from topoopt.inference.network.placement import place
from topoopt.inference.network.traffic import SentBy, serving_traffic
from topoopt.inference.requests import RequestLoad
from topoopt.workloads.transformer import find_transformer

DEEPSEEK = find_transformer("deepseek-v3")
LLAMA = find_transformer("llama3-70b")


def test_keys_and_values_are_spread_over_all_pairs() -> None:
    deployment = Deployment("disaggregated", Pool(Parallelism(tensor=8), 3), Pool(Parallelism(tensor=8), 2))
    kv_bytes = 327_680 * 4096.0
    assert cache_bytes_per_token(LLAMA) == 327_680
    placed = place(deployment, 8, 5)
    sent = serving_traffic(LLAMA, deployment, placed, RequestLoad(6, 4096, 100), np.full((2, 3), kv_bytes))
    expected = np.zeros((5, 5))
    expected[:2, 2:] = kv_bytes
    assert sent.kinds["kv"] == pytest.approx(expected)
    assert not sent.reduces
    assert not sent.kinds["experts"].any()


def test_tensor_parallelism_over_servers_is_an_allreduce_of_servers() -> None:
    deployment = Deployment("prefill-first", Pool(Parallelism(tensor=16)))
    load = RequestLoad(1, 1000, 24)
    sent = serving_traffic(LLAMA, deployment, place(deployment, 8, 2), load, np.zeros((0, 1)))
    (group,) = sent.reduces
    assert group.members == (0, 1)
    assert group.size_bytes == 1024 * 160 * 2 * 8192


def test_stages_hand_on_their_tokens() -> None:
    deployment = Deployment("prefill-first", Pool(Parallelism(tensor=8, pipeline=2)))
    sent = serving_traffic(
        LLAMA, deployment, place(deployment, 8, 2), RequestLoad(1, 1000, 24), np.zeros((0, 1))
    )
    assert sent.kinds["stages"].tolist() == [[0, 1024 * 2 * 8192], [0, 0]]


def test_experts_without_relay_get_what_the_formula_says() -> None:
    deployment = Deployment("prefill-first", Pool(Parallelism(1, 1, 16, 16)))
    sent = serving_traffic(
        DEEPSEEK, deployment, place(deployment, 8, 2), RequestLoad(1, 900, 100), np.zeros((0, 1))
    )
    tokens, layers, away = 1000, 58, 1 / 2
    each = tokens * 8 * 7168 * ((1 + 4 / 128) + 2) * layers * away
    assert sent.kinds["experts"].sum() == pytest.approx(each)
    relayed = serving_traffic(
        DEEPSEEK,
        deployment,
        place(deployment, 8, 2),
        RequestLoad(1, 900, 100),
        np.zeros((0, 1)),
        SentBy(True, True),
    )
    assert relayed.kinds["experts"].sum() < 0.3 * each


@given(st.sampled_from([8, 16, 32, 64]), st.floats(0.1, 100), st.booleans())
def test_traffic_grows_with_the_rate_and_stays_off_the_diagonal(
    ranks: int, rate: float, relayed: bool
) -> None:
    deployment = Deployment(
        "disaggregated", Pool(Parallelism(1, 1, ranks, ranks)), Pool(Parallelism(1, 1, 8, 8))
    )
    placed = place(deployment, 8, 16)
    sent = SentBy(relayed, relayed)
    one = serving_traffic(DEEPSEEK, deployment, placed, RequestLoad(1, 4096, 256), np.ones((1, 1)), sent)
    more = serving_traffic(
        DEEPSEEK, deployment, placed, RequestLoad(rate, 4096, 256), rate * np.ones((1, 1)), sent
    )
    assert more.transfers == pytest.approx(rate * one.transfers)
    assert not np.diag(more.transfers).any()
    traffic = more.as_traffic()
    assert traffic.mp_bytes == pytest.approx(more.transfers.sum(), rel=1e-3, abs=100)
