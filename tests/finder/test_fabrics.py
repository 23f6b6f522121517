"""The fabrics TopoOpt is compared with."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import networks_of
from topoopt.finder import FabricRequest, build_fabric
from topoopt.topologies import Ring, Topology

RingCheck = Callable[[Topology, Sequence[int], Ring], None]
GROUPS = (tuple(range(16)), (0, 4, 8, 12), (1, 2, 7))


WIRED_FOR_GOOD = [
    name for name in networks_of("simulate") if name not in ("ocs-reconfig", "sip-ml", "mixnet")
]


@pytest.mark.parametrize("name", WIRED_FOR_GOOD)
def test_every_fabric_carries_the_rings_of_every_group(name: str, check_ring: RingCheck) -> None:
    fabric = build_fabric(name, FabricRequest(16, 4, 100e9, GROUPS, seed=1))
    assert fabric.name == name
    assert set(fabric.rings) == set(GROUPS)
    for group, rings in fabric.rings.items():
        for ring in rings:
            check_ring(fabric.topology, group, ring)


# Bandwidth of a server out of d·B = 400 Gb/s (spec section 8).
@pytest.mark.parametrize(
    ("name", "bandwidth_bps"),
    [
        ("topoopt", 400e9),
        ("ideal-switch", 400e9),
        ("rail", 400e9),
        ("fat-tree", 125e9),
        ("oversub-fat-tree", 400e9),
        ("expander", 400e9),
        ("torus", 400e9),
        ("full-mesh", 400e9),
        ("ocs-reconfig", 400e9),
        ("sip-ml", 400e9),
        ("mixnet", 100e9),  # one electrical port; the other three are for circuits
    ],
)
def test_bandwidth_of_a_server(name: str, bandwidth_bps: float) -> None:
    for given, expected in ((None, bandwidth_bps), (80e9, 20e9 if name == "mixnet" else 80e9)):
        topology = build_fabric(name, FabricRequest(16, 4, 100e9, server_bandwidth_bps=given)).topology
        out = np.bincount(topology.src, topology.bandwidth_bps)[:16]
        assert out == pytest.approx(np.full(16, expected))


def test_table_names_the_issues_baselines() -> None:
    wired = {
        "topoopt",
        "ideal-switch",
        "fat-tree",
        "oversub-fat-tree",
        "rail",
        "expander",
        "torus",
        "full-mesh",
    }
    switches = {
        "leaf-spine",
        "rail-optimized",
        "dragonfly",
        "dragonfly-plus",
        "slim-fly",
        "polarfly",
        "jellyfish",
    }
    assert wired | switches | {"ocs-reconfig", "sip-ml", "mixnet"} == set(networks_of("simulate"))


@pytest.mark.parametrize("name", networks_of("simulate"))
def test_degree_zero_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="degree: must be at least 1, got 0"):
        build_fabric(name, FabricRequest(16, 0, 100e9, GROUPS))
