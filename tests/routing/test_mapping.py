import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.routing import (
    CoinChangeRoutes,
    EcmpRoutes,
    KShortestRoutes,
    Path,
    Routes,
    SingleShortestRoutes,
    all_pair_links,
    explicit_routes,
    routes_from_mapping,
    routes_to_mapping,
)
from topoopt.topologies import Link, Topology, topology_from_arrays, topology_from_links

N = 12
OFFSETS = (1, 5, 7, 11)
SRC = np.repeat(np.arange(N), len(OFFSETS))
CIRCULANT = topology_from_arrays(
    "circulant",
    N,
    SRC,
    (SRC + np.tile(OFFSETS, N)) % N,
    np.full(len(SRC), 100e9),
    np.full(len(SRC), 1e-6),
    None,
    OFFSETS,
)


@pytest.mark.parametrize(
    "made",
    [
        lambda: CoinChangeRoutes(CIRCULANT, seed=3),
        lambda: CoinChangeRoutes(CIRCULANT, balance=False, coins=(1, 11)),
        lambda: KShortestRoutes(CIRCULANT, 3, 2, "inverse-length", 7),
        lambda: EcmpRoutes(CIRCULANT, 5),
        lambda: SingleShortestRoutes(CIRCULANT),
        lambda: explicit_routes(CIRCULANT, [Path((0, 1, 2), 0.25), Path((0, 7, 2), 0.75), Path((4, 5))]),
    ],
    ids=["coin-change", "two coins", "k-shortest", "ecmp", "single-shortest", "explicit"],
)
def test_routes_come_back_from_json_as_they_were(made: Callable[[], Routes]) -> None:
    routes = made()
    mapping = routes_to_mapping(routes)
    text = json.dumps(mapping)
    again = routes_from_mapping(json.loads(text), CIRCULANT)
    assert mapping["method"] == routes.method == again.method
    assert routes_to_mapping(again) == mapping
    assert again.paths(0, 2) == routes.paths(0, 2)
    if routes.method != "explicit":
        assert len(text) < 120  # how they were made says it all
        before, after = all_pair_links(CIRCULANT, routes), all_pair_links(CIRCULANT, again)
        assert np.array_equal(before.share, after.share)


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({}, "method"),
        ({"method": "k-shortst"}, "k-shortest"),
        ({"method": "k-shortest", "k": 0}, "k: Input should be greater than or equal to 1"),
        ({"method": "k-shortest", "kk": 4}, "kk: Extra inputs are not permitted"),
        ({"method": "ecmp", "limit": "many"}, "limit: Input should be a valid integer"),
        ({"method": "coin-change", "coins": [1, 6]}, "coin 6 needs a link 0->6"),
        (
            {"method": "explicit", "paths": [{"nodes": [0, 1, 3]}]},
            "path 0->1->3: the topology has no link 1->3",
        ),
        ({"method": "explicit", "paths": [{"nodes": [0, 99]}]}, "must join servers 0..11, got 99"),
        ({"method": "explicit", "paths": [{"nodes": [0, 1, 0]}]}, "each once"),
        ({"method": "explicit", "paths": [{"nodes": []}]}, r"\(empty\): expected two or more nodes"),
        (
            {"method": "explicit", "paths": [{"nodes": [0, 1], "weight": 0.5}]},
            "pair 0->1: weights must sum to 1",
        ),
        ({"method": "explicit", "paths": [{"nodes": [0, 1], "weight": -1}]}, "weight must be positive"),
        (
            {"method": "balanced", "candidates": {"method": "ecmp"}, "src": [0], "dst": [], "weights": []},
            "must be of one length, got 1, 0 and 0",
        ),
        (
            {
                "method": "balanced",
                "candidates": {"method": "ecmp"},
                "src": [0],
                "dst": [12],
                "weights": [[1]],
            },
            r"pair 0->12: servers are 0\.\.11",
        ),
        (
            {
                "method": "balanced",
                "candidates": {"method": "ecmp"},
                "src": [0],
                "dst": [2],
                "weights": [[0.4]],
            },
            "pair 0->2: weights must sum to 1",
        ),
        (
            {
                "method": "balanced",
                "candidates": {"method": "ecmp"},
                "src": [2, 0],
                "dst": [0, 2],
                "weights": [[1], [1]],
            },
            "in order of",
        ),
    ],
)
def test_a_wrong_mapping_is_refused_with_its_place(mapping: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        routes_from_mapping(mapping, CIRCULANT)
    assert "\n" not in str(caught.value)


def test_an_explicit_table_knows_only_its_own_pairs() -> None:
    routes = explicit_routes(CIRCULANT, [Path((0, 1))])
    with pytest.raises(NoRoute, match="no route 1->0"):
        routes.paths(1, 0)


def test_a_route_over_a_switch_that_does_not_exist_is_refused() -> None:
    star: Topology = topology_from_links(
        "ideal-switch", 2, [Link(a, b, 1e9) for a, b in ((0, 2), (2, 0), (1, 2), (2, 1))], 3
    )
    assert explicit_routes(star, [Path((0, 2, 1))]).paths(0, 1)[0].hops == 2
    with pytest.raises(InvalidInput, match="no link 0->3"):
        explicit_routes(star, [Path((0, 3, 1))])


def test_routes_of_an_unknown_kind_cannot_be_written() -> None:
    class Strange:
        method = "strange"

        def paths(self, src: int, dst: int) -> tuple[Path, ...]:
            return (Path((src, dst)),)

    with pytest.raises(InvalidInput, match="method strange cannot be written"):
        routes_to_mapping(Strange())
