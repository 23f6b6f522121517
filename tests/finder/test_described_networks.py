"""Fabrics of graph files, and fabrics with settings, against those of the registry."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import NETWORKS, ClusterSpec, check_networks
from topoopt.finder import FabricRequest, build_fabric
from topoopt.finder.described_network import described_network
from topoopt.pricing import FabricOptions, bill_of_materials, find_prices
from topoopt.topologies import RailShape, Topology, rail, rail_optimized
from topoopt.topologies.wirings import read_fabric_graph


def names_of(graph: Topology) -> list[str]:
    return [f"server{k}" if k < graph.servers else f"leaf{k}" for k in range(graph.nodes)]


def rows_of(graph: Topology) -> Iterator[tuple[int, int, float]]:
    for src, dst, ports, bps in zip(
        graph.src.tolist(),
        graph.dst.tolist(),
        graph.ports.tolist(),
        graph.bandwidth_bps.tolist(),
        strict=True,
    ):
        if src < dst:
            yield from [(src, dst, bps / ports)] * ports


def written(graph: Topology, path: Path) -> str:
    """Return the path of a graph, as a list of links in the order of its nodes."""
    names = names_of(graph)
    links = [
        f"{names[a]},{names[b]},{bps:g}bps"
        for a, b, bps in sorted(rows_of(graph), key=lambda row: (row[1], row[0]))
    ]
    path.write_text("source,target,bandwidth\n" + "\n".join(links) + "\n")
    return str(path)


def assert_same(one: Topology, other: Topology) -> None:
    assert (one.servers, one.nodes) == (other.servers, other.nodes)
    for field in ("src", "dst", "ports", "bandwidth_bps", "latency_s"):
        assert np.array_equal(getattr(one, field), getattr(other, field)), field


def test_rails_in_a_file_are_rails(tmp_path: Path) -> None:
    rails = rail(40, 4, 100e9, 1e-6, leaf_ports=32, switches=True)
    name = written(rails, tmp_path / "rails.csv")
    request = FabricRequest(
        40, 2, 25e9, groups=(tuple(range(40)),)
    )  # the file has its own ports and bandwidth
    fabric = build_fabric(name, request)
    assert_same(fabric.topology, rails)
    # each of the four rings stays on one rail: 40 servers, with a leaf behind each
    assert [len(ring.members) for ring in fabric.rings[tuple(range(40))]] == [40] * 4
    cluster = ClusterSpec(40, 2, 25e9)
    assert NETWORKS[name].sizings[0].interfaces(cluster, None) == (4, 100e9)


def test_a_job_of_fewer_servers_uses_a_part_and_the_whole_is_paid(tmp_path: Path) -> None:
    name = written(rail(16, 4, 100e9, 1e-6, switches=True), tmp_path / "rails.csv")
    assert build_fabric(name, FabricRequest(8, 4, 100e9)).topology.servers == 8
    bills = [bill_of_materials(name, servers, 4, 100e9, find_prices("2026")) for servers in (8, 16)]
    assert bills[0].cost_usd == bills[1].cost_usd
    assert {line.item: line.count for line in bills[0].lines if line.item == "transceiver"} == {
        "transceiver": 2 * 64  # a module at both ends of each of 16 × 4 cables
    }
    with pytest.raises(InvalidInput, match="joins 16 servers, and the job has 17"):
        build_fabric(name, FabricRequest(17, 4, 100e9))


def test_accelerators_of_simai_become_servers(tmp_path: Path) -> None:
    """64 accelerators behind HPN's two planes, as SimAI's generator numbers them; its first line is published."""
    gpus, inside, leaves, spines = 64, 8, 16, 16
    nodes = gpus + inside + leaves + spines
    first_leaf, first_spine = gpus + inside, gpus + inside + leaves
    links = [f"{gpu} {gpus + gpu // 8} 2880Gbps 0.000025ms 0" for gpu in range(gpus)]
    for plane in range(2):
        links += [f"{gpu} {first_leaf + plane * 8 + gpu % 8} 200Gbps 0.0005ms 0" for gpu in range(gpus)]
        links += [
            f"{first_leaf + plane * 8 + leaf} {first_spine + plane * 8 + spine} 200Gbps 0.0005ms 0"
            for leaf in range(8)
            for spine in range(8)
        ]
    assert (nodes, len(links)) == (104, 320)
    switches = " ".join(map(str, range(gpus, nodes)))
    path = tmp_path / "hpn.topo"
    path.write_text(
        "\n".join([f"{nodes} 8 {inside} {leaves + spines} {len(links)} H100", switches, *links]) + "\n"
    )
    read = read_fabric_graph(path, 100e9)
    assert read is not None
    assert_same(read, rail_optimized(8, 8, 400e9, 1e-6, RailShape(planes=2, leaf_servers=8, spines=8), True))


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("oversub-fat-tree:oversubscription=2", "oversub-fat-tree"),
        ("rail:oversubscription=1", "rail"),
        ("leaf-spine:leaf_servers=32", "leaf-spine"),
    ],
)
def test_settings_of_the_default_change_nothing(name: str, same: str) -> None:
    request = FabricRequest(64, 4, 100e9)
    assert_same(build_fabric(name, request).topology, build_fabric(same, request).topology)


def test_more_oversubscription_is_cheaper_and_has_less_bandwidth() -> None:
    usd, bps = [], []
    for ratio in (1.5, 2, 4):
        name = f"oversub-fat-tree:oversubscription={ratio:g}"
        usd.append(bill_of_materials(name, 128, 4, 100e9, find_prices("2026")).cost_usd or 0.0)
        topology = build_fabric(name, FabricRequest(128, 4, 100e9)).topology
        bps.append(topology.bandwidth_bps[topology.src >= 128].sum())
        assert NETWORKS[name].oversubscription == ratio
    assert usd[0] > usd[1] > usd[2]
    assert bps[0] > bps[1] > bps[2]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("torus:twist=1", 'fabric torus: unknown setting "twist"; known: twisted'),
        ("topoopt:degree=4", 'fabric topoopt: unknown setting "degree"; it has none'),
        ("rail:leaf_ports=many", 'leaf_ports: expected a number, got "many"'),
        ("rail:leaf_ports=inf", "expected a number"),
        ("rail:leaf_ports=8:leaf_ports=8", "leaf_ports stands twice"),
        ("rial:leaf_ports=8", "did you mean rail"),
        ("missing.csv", "fabric missing.csv: No such file or directory"),
    ],
)
def test_a_wrong_description_is_one_line(name: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_networks("fabrics", (name,), "plan")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1\n1 2\n2 0\n", "has no switch"),
        ("a leaf0\nb leaf0\nc leaf1\nd leaf1\n", "cannot reach"),
        ("source,target,bandwidth\na,leaf0,100Gbps\nb,leaf0,lots\n", "line 3"),
        ("source,target,bandwith\na,leaf0,100Gbps\nb,leaf0,100Gbps\n", "did you mean bandwidth"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "fabric.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        build_fabric(str(path), FabricRequest(2, 1, 100e9))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_pod_of_hpn_has_its_switches() -> None:
    """Qian et al., SIGCOMM 2024: 15,360 accelerators, 240 ToRs and 120 aggregation switches of 51.2 Tb/s."""
    name = "rail-optimized:planes=2:leaf_servers=128:spines=60:oversubscription=1.0667"
    bill = bill_of_materials(name, 1920, 8, 400e9, find_prices("2026"))
    count = {(line.item, line.bandwidth_bps): line.count for line in bill.lines}
    assert count["electrical_port", 800e9] == (240 + 120) * 64
    assert (
        count["transceiver", 200e9] == 1920 * 8 * 2
    )  # servers: two ports of half the bandwidth per interface
    assert bill.price_missing == ()


def test_copper_takes_the_place_of_modules_and_fiber_at_servers(tmp_path: Path) -> None:
    name = written(
        rail(16, 4, 100e9, 1e-6, switches=True), tmp_path / "rails.csv"
    )  # a leaf per rail, no spines
    options = FabricOptions(link_technology="copper")
    bill = bill_of_materials(name, 16, 4, 400e9, find_prices("2026"), options=options)
    count = {line.item: line.count for line in bill.lines}
    copper = count.get("passive_copper", 0) + count.get("active_copper", 0)
    assert copper > 0
    assert count.get("transceiver", 0) == 2 * (64 - copper)
    assert ("fiber_m" in count) == (copper < 64)


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    name = written(rail(4, 2, 100e9, 1e-6), tmp_path / "rails.csv")
    before = described_network(name)
    assert described_network(name) is before
    written(rail(8, 2, 100e9, 1e-6), tmp_path / "rails.csv")
    os.utime(name, ns=(1, 1))  # however fast the two were written
    assert described_network(name).description == "8 servers and 2 switches of the file"


def test_the_same_fabric_twice_is_refused() -> None:
    with pytest.raises(InvalidInput, match="stands twice"):
        check_networks("fabrics", ("rail", "torus", "rail"), "plan")
