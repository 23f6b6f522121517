"""Reconfigurable fabrics between two changes."""

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.finder import FabricRequest, FabricShape, build_fabric, reached, rewired

TRIANGLE_AND_ONE_WAY = np.array([[0, 2, 1, 0], [2, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]])


def test_ocs_reconfig_is_the_papers() -> None:
    """10 ms, demand every 50 ms, first after 1 ms (spec section 8)."""
    rule = build_fabric("ocs-reconfig", FabricRequest(16, 4, 100e9)).beat
    assert (rule.delay_s, rule.period_s, rule.first_change_s) == (0.01, 0.05, 0.001)
    assert rule.duplex
    assert rule.host_forwarding


def test_sip_ml_is_one_way_and_does_not_forward() -> None:
    rule = build_fabric("sip-ml", FabricRequest(16, 4, 100e9)).beat
    assert not rule.duplex
    assert not rule.host_forwarding
    assert rule.delay_s == rule.first_change_s == 25e-6  # from memory of the paper, unconfirmed


def test_the_beat_goes_with_the_delay() -> None:
    rule = build_fabric(
        "ocs-reconfig", FabricRequest(16, 4, 100e9, shape=FabricShape(delay_s=1e-6, host_forwarding=False))
    ).beat
    assert rule.delay_s / rule.period_s == pytest.approx(0.2)
    assert rule.first_change_s == 1e-6
    assert not rule.host_forwarding


def test_circuits_of_a_pair_are_one_fatter_link() -> None:
    fabric = rewired(build_fabric("ocs-reconfig", FabricRequest(4, 4, 100e9)), TRIANGLE_AND_ONE_WAY)
    topology = fabric.topology
    links = zip(topology.src.tolist(), topology.dst.tolist(), topology.bandwidth_bps.tolist(), strict=True)
    assert list(links) == [
        (0, 1, 200e9), (0, 2, 100e9), (1, 0, 200e9), (2, 0, 100e9), (2, 3, 100e9),
    ]  # fmt: skip
    assert fabric.routes.paths(1, 2)[0].nodes == (1, 0, 2)


def test_without_forwarding_a_pair_has_its_circuit_or_no_route() -> None:
    fabric = rewired(build_fabric("sip-ml", FabricRequest(4, 4, 100e9)), TRIANGLE_AND_ONE_WAY)
    src, dst = np.array([0, 2, 3, 1]), np.array([1, 3, 2, 2])
    assert reached(fabric, src, dst).tolist() == [True, True, False, False]
    assert fabric.routes.paths(2, 3)[0].nodes == (2, 3)
    with pytest.raises(NoRoute, match="no route 1->2: no link joins them and servers do not forward"):
        fabric.routes.paths(1, 2)


def test_one_way_circuits_cannot_be_forwarded_over() -> None:
    with pytest.raises(InvalidInput, match="duplex circuits only"):
        build_fabric("sip-ml", FabricRequest(4, 2, 100e9, shape=FabricShape(host_forwarding=True)))


def test_no_delay_at_all_needs_a_beat_of_its_own() -> None:
    with pytest.raises(InvalidInput, match="live_s must be positive"):
        build_fabric("ocs-reconfig", FabricRequest(4, 2, 100e9, shape=FabricShape(delay_s=0.0)))
