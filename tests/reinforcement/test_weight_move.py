"""Ways of weights: each brings all to every server that needs them; which has least at the busiest server."""

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.inference import Parallelism
from topoopt.reinforcement.weight_sync import (
    WAYS,
    Places,
    WeightMove,
    WeightTraffic,
    find_weight_transport,
    least_network_s,
    weight_bytes,
    weight_moves,
    weight_traffic,
    weight_transports,
)
from topoopt.transformers import Configuration
from topoopt.workloads.transformer import find_transformer

MODEL = find_transformer("qwen3-32b")
TRAINING = Configuration(tp=8, pp=2, dp=1, global_batch=1, sequence=8)


def moved(way: str, tensor: int = 8, replicas: int = 2) -> tuple[WeightMove, WeightTraffic]:
    places = Places(16, tensor * replicas, 8, disjoint=True)
    move, *_ = weight_moves(MODEL, "bf16", TRAINING, Parallelism(tensor), replicas, places)
    return move, weight_traffic(move, way)


@pytest.mark.parametrize("way", WAYS)
def test_every_server_that_answers_hears_all_weights(way: str) -> None:
    move, traffic = moved(way)
    assert traffic.server_bytes[:, 2:].sum(axis=0) == pytest.approx(np.full(2, move.size_bytes))
    assert (np.diag(traffic.server_bytes) == 0).all()


def test_replicas_over_servers_share_what_each_server_hears() -> None:
    move, traffic = moved("shards", tensor=16, replicas=1)
    assert traffic.server_bytes[:, 2:].sum(axis=0) == pytest.approx(np.full(2, move.size_bytes / 2))


def test_a_tree_loads_its_root_twice_and_a_ring_nobody() -> None:
    (move, ring), (_, tree) = moved("ring", replicas=4), moved("tree", replicas=4)
    assert ring.busiest_bytes == pytest.approx(move.size_bytes)
    assert tree.busiest_bytes == pytest.approx(2 * move.size_bytes)
    assert tree.rounds < ring.rounds


def test_eight_bits_are_half_of_sixteen() -> None:
    for one, other in zip(weight_bytes(MODEL, "fp8"), weight_bytes(MODEL, "bf16"), strict=True):
        assert 2 * one == other


def test_in_place_within_servers_nothing_goes_over_the_network() -> None:
    places = Places(16, 16, 8, disjoint=False)
    training = Configuration(tp=8, pp=1, dp=2, global_batch=2, sequence=8)
    found = [
        weight_traffic(move, "shards")
        for move in weight_moves(MODEL, "bf16", training, Parallelism(4), 4, places)
    ]
    assert len(found) == 2
    assert min(one.total_bytes for one in found) == 0


def test_an_unknown_way_or_transport_is_one_line() -> None:
    with pytest.raises(InvalidInput, match="ring"):
        moved("rings")
    with pytest.raises(InvalidInput, match="nccl"):
        find_weight_transport("ncl")


@pytest.mark.parametrize(
    ("transport", "size_bytes", "published_s", "within"),
    [
        ("gloo-by-matrix", 140e9, 180, 0.02),  # the one row that it rests on
        ("gloo", 16.06e9, 5.5, 0.01),  # the same
        ("checkpoint-engine", 470.2e9, 6.2, 0.21),  # 235 B on 8 x H800: 7.5 s, a fifth too long
        ("checkpoint-engine", 1.03e12, 16.04, 0.02),  # 1 T on 256 x H20
    ],
)
def test_software_takes_what_is_published(
    transport: str, size_bytes: float, published_s: float, within: float
) -> None:
    assert find_weight_transport(transport).software_s(size_bytes) == pytest.approx(published_s, rel=within)


def test_a_slow_network_is_waited_for_while_software_takes_bytes_in() -> None:
    one = weight_transports()["nccl"]
    assert one.sync_s(1e9, 0.0) == pytest.approx(one.software_s(1e9))
    assert one.sync_s(1e9, 100.0) == pytest.approx(one.fixed_s + 100.0)
    _, traffic = moved("shards")
    assert least_network_s(traffic, 3.2e12, 0.0) == pytest.approx(traffic.busiest_bytes * 8 / 3.2e12)
