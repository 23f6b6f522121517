"""The fabric mixnet: which ports are electrical, and the rule by which its circuits follow the traffic."""

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.finder import (
    FabricRequest,
    FabricShape,
    build_fabric,
    exchange_time_s,
    improved_circuits,
    regional_circuits,
)
from topoopt.finder.regional_circuits import best_regional_circuits
from topoopt.routing import CIRCUIT_CHOICES, RegionalReconfiguration


def rule_of(**shape: object) -> RegionalReconfiguration:
    fabric = build_fabric("mixnet", FabricRequest(16, 8, 100e9, shape=FabricShape(**shape)))  # type: ignore[arg-type]
    assert isinstance(fabric.reconfiguration, RegionalReconfiguration)
    return fabric.reconfiguration


def test_by_default_it_is_the_papers() -> None:
    """2 of 8 NICs are electrical, regions have 64 accelerators, a change takes 25 ms (MixNet, SIGCOMM 2025)."""
    rule = rule_of()
    assert (rule.degree, rule.electrical_bps, rule.region_servers) == (6, 200e9, 8)
    assert (rule.delay_s, rule.circuits, rule.hiding) == (25e-3, "break", "all-but-first")


def test_everything_can_be_told() -> None:
    rule = rule_of(
        electrical_ports=4, region_servers=4, delay_s=1e-3, circuits="improved", hiding="overlapped"
    )
    assert (rule.degree, rule.electrical_bps, rule.region_servers) == (4, 400e9, 4)
    assert (rule.delay_s, rule.circuits, rule.hiding) == (1e-3, "improved", "overlapped")


def test_circuits_join_servers_of_one_region() -> None:
    rule = rule_of(region_servers=3)
    src, dst = rule.pairs(7)
    assert rule.joins(src, dst).all()
    pairs = {(a, b) for a in range(7) for b in range(7) if a != b and a // 3 == b // 3}
    assert set(zip(src.tolist(), dst.tolist(), strict=True)) == pairs


def test_improved_circuits_are_near_the_optimum_where_the_greedy_rule_is_not() -> None:
    """A Zipf-like load on 8 servers: some receive more than others."""
    rng = np.random.default_rng(1)
    ratios = []
    for _ in range(3):
        demand = np.tile(rng.permutation(np.arange(1, 7) ** -0.3) * 1e9, (6, 1)) * rng.uniform(
            0.9, 1.1, (6, 6)
        )
        best, improved, greedy = (
            exchange_time_s(demand, circuits, 100e9, 200e9)
            for circuits in (
                best_regional_circuits(demand, 4, 100e9, 200e9),
                improved_circuits(demand, 4, 100e9, 200e9),
                regional_circuits(demand, 4, "break"),
            )
        )
        assert best <= improved * (1 + 1e-9) <= greedy * (1 + 1e-9)
        ratios.append((improved / best, greedy / best))
    assert max(ratio for ratio, _ in ratios) < 1.1
    assert max(ratio for _, ratio in ratios) > 1.3


def test_improved_circuits_keep_to_the_ports() -> None:
    demand = np.random.default_rng(2).gamma(0.5, 1e9, (5, 5))
    circuits = improved_circuits(demand, 3, 100e9, 100e9)
    assert (circuits == circuits.T).all()
    assert circuits.min() >= 0
    assert circuits.sum(axis=1).max() <= 3
    assert not improved_circuits(np.zeros((3, 3)), 2, 1e9, 1e9).any()


def test_mistakes_are_named() -> None:
    with pytest.raises(InvalidInput, match="a server needs 2 ports or more"):
        build_fabric("mixnet", FabricRequest(4, 1, 100e9))
    with pytest.raises(InvalidInput, match=r"electrical_ports must be 1\.\.7 of 8 ports, got 8"):
        rule_of(electrical_ports=8)
    with pytest.raises(InvalidInput, match="region_servers must be at least 2, got 1"):
        rule_of(region_servers=1)
    with pytest.raises(InvalidInput, match="delay_s must be >= 0"):
        rule_of(delay_s=-1.0)
    for key, known in (("circuits", CIRCUIT_CHOICES), ("hiding", ("all-but-first", "overlapped", "none"))):
        with pytest.raises(InvalidInput, match=", ".join(sorted(known))):
            rule_of(**{key: "never"})
    with pytest.raises(InvalidInput, match="does not accept host_forwarding"):
        rule_of(host_forwarding=True)
