"""The wirings of all networks of fixed links, and the two plainest ones."""

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import NETWORKS
from topoopt.topologies import WIRING_FAMILIES, full_mesh, hop_metrics, ideal_switch


@pytest.mark.parametrize("name", NETWORKS.that(lambda one: one.wire is not None))
@pytest.mark.parametrize(("servers", "degree"), [(2, 1), (2, 4), (7, 3), (12, 4), (13, 4), (16, 6), (64, 8)])
def test_every_server_reaches_all_others_within_its_bandwidth(name: str, servers: int, degree: int) -> None:
    built = NETWORKS[name].wire(servers, degree, 100e9, 2e-6, seed=3)
    assert built.family == name
    assert built.servers == servers
    hop_metrics(built)
    out = np.bincount(built.src, built.bandwidth_bps, built.nodes)[:servers]
    into = np.bincount(built.dst, built.bandwidth_bps, built.nodes)[:servers]
    assert (out <= degree * 100e9 * (1 + 1e-12)).all()
    assert (out == into).all()
    assert set(built.latency_s.tolist()) == {2e-6}


@pytest.mark.parametrize("name", sorted(set(NETWORKS.that(lambda one: one.wire is not None)) - {"full-mesh"}))
def test_families_scale_to_65536_servers(name: str) -> None:
    assert NETWORKS[name].wire(65536, 8, 100e9).servers == 65536


@pytest.mark.parametrize("name", NETWORKS.that(lambda one: one.wire is not None))
def test_impossible_numbers_are_one_line(name: str) -> None:
    build = NETWORKS[name].wire
    for arguments, message in (
        ((1, 4, 1e9), "servers must be at least 2, got 1"),
        ((8, 4, -1.0), "bandwidth_bps must be positive, got -"),
        ((8, 4, float("nan")), "bandwidth_bps must be positive, got nan"),
        ((8, 4, 1e9, -1.0), r"latency_s must be >= 0, got -1\.0"),
    ):
        with pytest.raises(InvalidInput, match=message) as caught:
            build(*arguments)
        assert "\n" not in str(caught.value)


def test_switch_has_one_merged_link_a_server() -> None:
    switch = ideal_switch(5, 400e9)
    assert (switch.nodes, len(switch)) == (6, 10)
    assert switch.bandwidth_bps[switch.link_id(3, 5)] == 400e9
    assert hop_metrics(switch).histogram == (0, 0, 20)


def test_full_mesh_divides_the_bandwidth_over_all_others() -> None:
    mesh = full_mesh(5, 400e9)
    assert len(mesh) == 20
    assert set(mesh.bandwidth_bps.tolist()) == {100e9}
    with pytest.raises(InvalidInput, match="at most 4096 servers, got 5000"):
        full_mesh(5000, 400e9)


@pytest.mark.parametrize(("servers", "degree"), [(16, 4), (36, 4), (64, 6), (128, 4), (60, 6)])
@pytest.mark.parametrize("name", ["expander", "torus"])
def test_a_name_of_both_tables_is_one_graph(name: str, servers: int, degree: int) -> None:
    """Where d interfaces can be wired like that, the network for any numbers is that wiring."""
    assert WIRING_FAMILIES[name].exists(servers, degree, "duplex")
    [wiring] = WIRING_FAMILIES[name].build(servers, degree, "duplex")
    one, other = NETWORKS[name].wire(servers, degree, 1.0), wiring.topology(1.0)
    assert hop_metrics(one) == hop_metrics(other)
    if name == "expander":
        assert one.src.tolist() == other.src.tolist()
        assert one.dst.tolist() == other.dst.tolist()
