"""Hashed connections against balls in bins, and against connections of the packet simulator."""

import numpy as np
import pytest

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.finder import FabricRequest, FabricShape, build_fabric
from topoopt.routing import Fabric, conflicts_on, expected_fullest_bin, no_conflict_share
from topoopt.workloads import Traffic
from topoopt.workloads.traffic import merged_transfers


@pytest.mark.parametrize(
    ("balls", "bins", "published"),
    [(32, 32, 3.54), (64, 32, 2 * 2.70)],
)
def test_balls_in_bins(balls: int, bins: int, published: float) -> None:
    """Published by Monte Carlo: 32 flows on 32 links, and 64 of half the rate on the same (MegaScale's split ports)."""
    drawn = np.random.default_rng(0).integers(0, bins, (20_000, balls))
    fullest = np.mean([np.bincount(row, minlength=bins).max() for row in drawn])
    assert expected_fullest_bin(balls, bins) == pytest.approx(fullest, abs=0.02)
    assert expected_fullest_bin(balls, bins) == pytest.approx(published, abs=0.02)


def test_eight_flows_over_32_uplinks_meet_nobody() -> None:
    """HPN, SIGCOMM 2024: p = 0.3857."""
    assert no_conflict_share(8, 32) == pytest.approx(0.3857, abs=5e-5)
    assert no_conflict_share(33, 32) == 0.0


def across_leaves(servers: int) -> Traffic:
    """Return a transfer from every server of the first leaf to one of the second."""
    src = np.arange(servers // 2)
    return Traffic(servers, transfers=merged_transfers(src, src + servers // 2, np.full_like(src, 1_000_000)))


def leaf_spine(servers: int, uplinks: int) -> Fabric:
    """Return two leaves without oversubscription, each with a cable to each of as many spines."""
    name = f"rail-optimized:leaf_servers={servers // 2}:spines={uplinks}"
    return build_fabric(name, FabricRequest(servers, 1, 400e9, shape=FabricShape(switches=True)))


def test_hashes_on_a_fabric_are_balls_in_bins_up_and_down() -> None:
    """32 flows of a leaf on 32 uplinks: the spine of a flow decides its uplink and its downlink, one throw for both."""
    found = conflicts_on(across_leaves(64), leaf_spine(64, 32), draws=2000)
    hashed = {row.connections: row.mean for row in found.rows if row.paths == "hashed"}
    rng = np.random.default_rng(1)
    spine = rng.integers(
        0, 32, (20_000, 32)
    )  # a flow's spine says its uplink and its downlink: one throw, not two
    fullest = np.mean([np.bincount(row, minlength=32).max() for row in spine])
    assert hashed[1] == pytest.approx(fullest, rel=0.03)
    assert hashed[1] == pytest.approx(expected_fullest_bin(32, 32), rel=0.03)
    assert hashed[2] == pytest.approx(expected_fullest_bin(64, 32) / 2, rel=0.03)
    assert hashed[1] > hashed[2] > hashed[4] > hashed[8] > 1.0
    others = {row.paths: row.mean for row in found.rows if row.paths != "hashed"}
    assert others == {"chosen": 1.0, "sprayed": 1.0}


def test_a_connection_of_a_rail_stays_on_it() -> None:
    one = merged_transfers(np.array([0]), np.array([7]), np.array([1_000_000]))
    demand = Traffic(8, transfers=one)
    fabric = build_fabric("rail:leaf_ports=8", FabricRequest(8, 4, 100e9, shape=FabricShape(switches=True)))
    found = conflicts_on(demand, fabric, draws=50)
    assert found.rows[0].mean == pytest.approx(
        1.0
    )  # four connections over four rails: no port of the server has two


def test_the_page_and_the_document_have_them() -> None:
    laid = topoopt.traffic("dlrm", servers=16, conflicts="leaf-spine:leaf_servers=4")
    assert laid.conflicts is not None
    document = laid.to_json()["conflicts"]
    assert document["fabric"] == "leaf-spine:leaf_servers=4"
    assert [row["paths"] for row in document["rows"]] == ["hashed"] * 4 + ["chosen", "sprayed"]
    assert "ECMP conflicts" in str(laid)


def test_a_network_without_packet_switches_is_refused() -> None:
    with pytest.raises(InvalidInput, match="conflicts: torus has no packet switches"):
        topoopt.traffic("dlrm", servers=16, conflicts="torus")
