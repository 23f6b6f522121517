"""Hand-made bills of eight clusters: whole switches, breakout cables, modules, cards and fiber, part by part.

The prices are those of the list of 2026, 10 m of fiber a link. What each network is built of is worked out in the
comments, from the catalogue of switches alone.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import Infeasible
from topoopt.catalog import NETWORKS
from topoopt.pricing import Bill, known_price, network_bill, pricing_of

PRICING = pricing_of("2026", fiber_length_m=10.0)
SOLD_GBPS = (10, 25, 40, 100, 200, 400, 800)


@dataclass(frozen=True)
class Cluster:
    """Servers, ports and gigabits a second; lines as (part, gigabits a second or 0, count, dollars each)."""

    servers: int
    degree: int
    gbps: float
    switch: str
    spare_ports: int
    lines: tuple[tuple[str, float, float, float], ...]


CLUSTERS = (
    # 16 ports of 100 Gb/s: one switch of 32 such ports, the cheapest with as many: 32 × 187 = 5,984 $. (Of 200 Gb/s,
    # split in two, 32 × 374; more than twice as many of 100 Gb/s cost more than twice as much.)
    Cluster(
        16,
        1,
        100,
        "NVIDIA SN2700",
        16,
        (
            ("nic", 100, 16, 659),
            ("transceiver", 100, 32, 99),
            ("electrical_port", 100, 32, 187),
            ("fiber_m", 0, 160, 0.30),
        ),
    ),
    # 64 ports of 100 Gb/s, 4 of each server: one switch of 64 such ports, 11,968 $, is dearer by nothing than two of
    # 32, and is one.
    Cluster(
        16,
        4,
        100,
        "Broadcom Tomahawk 2",
        0,
        (
            ("nic", 200, 32, 1079),  # of two ports
            ("transceiver", 100, 128, 99),
            ("electrical_port", 100, 64, 187),
            ("fiber_m", 0, 640, 0.30),
        ),
    ),
    # 256 ports of 400 Gb/s: 128 ports of 800 Gb/s (one switch of 102.4 Tb/s), each split in two, for
    # 128 × (1,400 + 1,250 + 100); by ports of 400 Gb/s it would be 256 × (1,090 + 659).
    Cluster(
        32,
        8,
        400,
        "Broadcom Tomahawk 6 (100G)",
        0,
        (
            ("nic", 400, 256, 1499),
            ("transceiver", 400, 256, 659),
            ("transceiver", 800, 128, 1250),
            ("electrical_port", 800, 128, 1400),
            ("breakout_cable", 0, 128, 100),
            ("fiber_m", 0, 2560, 0.30),
        ),
    ),
    # 128 ports of 400 Gb/s: half of it.
    Cluster(
        64,
        2,
        400,
        "NVIDIA SN5600",
        0,
        (
            ("nic", 400, 128, 1499),
            ("transceiver", 400, 128, 659),
            ("transceiver", 800, 64, 1250),
            ("electrical_port", 800, 64, 1400),
            ("breakout_cable", 0, 64, 100),
            ("fiber_m", 0, 1280, 0.30),
        ),
    ),
    # 128 ports of 800 Gb/s: one switch of 102.4 Tb/s, nothing split.
    Cluster(
        128,
        1,
        800,
        "Broadcom Tomahawk 6 (100G)",
        0,
        (
            ("nic", 800, 128, 2248),
            ("transceiver", 800, 256, 1250),
            ("electrical_port", 800, 128, 1400),
            ("fiber_m", 0, 1280, 0.30),
        ),
    ),
    # 128 ports of 1.6 Tb/s on switches of 64: two tiers. Three leaves of 43 ports: 43 up, to 3 spines of ⌊64/3⌋ = 21
    # ports a leaf. Four leaves of 32: 32 up, to 2 spines of 16 ports a leaf: 6 switches, 128 links between them.
    Cluster(
        128,
        1,
        1600,
        "Broadcom Tomahawk 6",
        0,
        (
            ("nic", 1600, 128, 6744),
            ("transceiver", 1600, 128 + 128 + 2 * 128, 2000),
            ("electrical_port", 1600, 6 * 64, 4200),
            ("fiber_m", 0, (128 + 128) * 10, 0.30),
        ),
    ),
    # 432 servers with 8 ports of 200 Gb/s: a switch of 102.4 Tb/s has 512 of them, its 128 ports split in four: enough
    # for one port of every server and not for two, so eight switches, 80 ports spare on each. 432 / 4 = 108 of 128
    # ports have a module and a cable.
    Cluster(
        432,
        8,
        200,
        "Broadcom Tomahawk 6 (100G)",
        8 * 80,
        (
            ("nic", 400, 1728, 1499),  # of two ports
            ("transceiver", 200, 3456, 239),
            ("transceiver", 800, 8 * 108, 1250),
            ("electrical_port", 800, 8 * 128, 1400),
            ("breakout_cable", 0, 8 * 108, 100),
            ("fiber_m", 0, 34_560, 0.30),
        ),
    ),
    # 32,768 ports of 400 Gb/s on switches of 256: 256 leaves, half their ports down, and 128 spines. Every port of 800
    # Gb/s is used and split in two.
    Cluster(
        4096,
        8,
        400,
        "Broadcom Tomahawk 6 (100G)",
        0,
        (
            ("nic", 400, 32_768, 1499),
            ("transceiver", 400, 32_768, 659),
            ("transceiver", 800, 384 * 128, 1250),
            ("electrical_port", 800, 384 * 128, 1400),
            ("breakout_cable", 0, 384 * 128, 100),
            ("fiber_m", 0, (32_768 + 32_768) * 10, 0.30),
        ),
    ),
)


def bill_of(cluster: Cluster, fabric: str = "ideal-switch") -> Bill:
    return network_bill(fabric, cluster.servers, cluster.degree, cluster.gbps * 1e9, PRICING)


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda one: f"{one.servers}x{one.degree}x{one.gbps}")
def test_a_switched_network_is_what_is_worked_out_by_hand(cluster: Cluster) -> None:
    bill = bill_of(cluster)
    found = [(line.item, (line.bandwidth_bps or 0) / 1e9, line.count, line.unit_usd) for line in bill.lines]
    assert found == list(cluster.lines)
    by_hand = sum(round(100 * count * usd) for _, _, count, usd in cluster.lines) / 100
    assert bill.cost_usd is not None
    assert round(bill.cost_usd, 2) == by_hand
    assert {plane.model.switch.name for plane in bill.planes} == {cluster.switch}
    assert bill.spare_ports == cluster.spare_ports


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda one: f"{one.servers}x{one.degree}x{one.gbps}")
def test_panels_and_cables_are_what_is_worked_out_by_hand(cluster: Cluster) -> None:
    ports = cluster.servers * cluster.degree
    nics_usd = cluster.lines[0][2] * cluster.lines[0][3]
    module_usd = {100: 99, 200: 239, 400: 659, 800: 1250, 1600: 2000}[int(cluster.gbps)]
    # a port of a panel and a fiber to it
    by_hand = nics_usd + ports * (module_usd + 100 + 3)
    assert bill_of(cluster, "topoopt").cost_usd == pytest.approx(by_hand, abs=0.005)
    assert bill_of(cluster, "topoopt-ocs").cost_usd == pytest.approx(
        nics_usd + ports * (module_usd + 520 + 3), abs=0.005
    )
    # a fiber from server to server has an interface at both ends
    by_hand = nics_usd + ports * module_usd + -(-ports // 2) * 3
    assert bill_of(cluster, "torus").cost_usd == pytest.approx(by_hand, abs=0.005)


def test_an_ideal_switch_is_no_dearer_than_the_rails_of_the_same_ports() -> None:
    """What was wrong: 8 × 29 switches of 6 ports (2.91 M$) beside rails of 8 × 1 switch of 64 (1.04 M$)."""
    bills = {
        name: network_bill(name, 32, 8, 400e9, pricing_of()) for name in ("ideal-switch", "fat-tree", "rail")
    }
    assert bills["ideal-switch"].known_usd == bills["fat-tree"].known_usd <= bills["rail"].known_usd < 1.04e6
    (plane,) = bills["ideal-switch"].planes
    assert (plane.tree.switches, plane.tree.tiers, plane.spare_ports) == (1, 1, 0)


def test_fibers_of_two_planes_are_rounded_together() -> None:
    """Each rounded alone, rails were 0.3 µ$ cheaper than the ideal switch."""
    ideal, rail = (network_bill(name, 255, 2, 10e9, pricing_of()) for name in ("ideal-switch", "rail"))
    assert ideal.known_usd == rail.known_usd


@given(
    servers=st.integers(2, 4096),
    degree=st.integers(1, 8),
    gbps=st.sampled_from([*SOLD_GBPS, 1600]),
    technology=st.sampled_from(["pluggable", "linear", "co-packaged"]),
)
@settings(max_examples=60)
def test_an_ideal_switch_is_never_dearer_than_rails(
    servers: int, degree: int, gbps: float, technology: str
) -> None:
    if technology == "co-packaged" and gbps > 800:
        return  # no such switch is in the catalogue
    pricing = pricing_of(link_technology=technology)
    ideal, rail = (
        network_bill(name, servers, degree, gbps * 1e9, pricing) for name in ("ideal-switch", "rail")
    )
    assert ideal.known_usd <= rail.known_usd * (1 + 1e-12)
    thin = network_bill("oversub-fat-tree", servers, degree, gbps * 1e9, pricing)
    if all(
        plane.tree.tiers > 1 for plane in ideal.planes
    ):  # where one switch joins all servers, that is cheaper
        assert thin.known_usd <= ideal.known_usd * (1 + 1e-12)


PRICED = tuple(name for name in NETWORKS if name not in ("full-mesh", "mixnet", "topoopt-hybrid"))


@given(
    fabric=st.sampled_from(PRICED),
    servers=st.integers(2, 3000),
    degree=st.integers(1, 8),
    gbps=st.sampled_from(SOLD_GBPS),
    data=st.data(),
)
@settings(max_examples=120)
def test_more_servers_ports_or_bandwidth_are_never_cheaper(
    fabric: str, servers: int, degree: int, gbps: float, data: st.DataObject
) -> None:
    pricing = pricing_of()

    def usd(count: int, ports: int, speed: float) -> float:
        found = network_bill(fabric, count, ports, speed * 1e9, pricing).cost_usd
        assert found is not None
        return found

    first = usd(servers, degree, gbps)
    grown = data.draw(st.sampled_from(["servers", "ports", "bandwidth"]))
    if grown == "servers":
        larger = usd(servers + data.draw(st.integers(1, 100)), degree, gbps)
    elif grown == "ports":
        larger = usd(servers, degree + 1, gbps)
    else:
        larger = usd(servers, degree, data.draw(st.sampled_from([one for one in SOLD_GBPS if one >= gbps])))
    assert larger >= first * (1 - 1e-12)


def test_tiers_can_be_forced_and_what_does_not_reach_is_refused() -> None:
    one, two, three = (
        network_bill("ideal-switch", 64, 1, 400e9, pricing_of(tiers=tiers)) for tiers in (1, 2, 3)
    )
    assert [bill.planes[0].tree.tiers for bill in (one, two, three)] == [1, 2, 3]
    assert one.known_usd < two.known_usd < three.known_usd
    with pytest.raises(
        Infeasible, match="2,000 servers: switches of at most 288 ports of 400 Gb/s do not reach in 1"
    ):
        network_bill("ideal-switch", 2000, 1, 400e9, pricing_of(tiers=1))
    with pytest.raises(Infeasible, match=r"no switch of the catalogue has ports of 3.2 Tb/s"):
        network_bill("rail", 16, 1, 3200e9, pricing_of())
    unknown = known_price("rail", 16, 1, 3200e9, pricing_of())
    assert (unknown.cost_usd, unknown.power_w) == (None, None)
    assert "no switch of the catalogue" in unknown.missing[0]


def test_a_row_of_a_switch_prices_it_whole(tmp_path: Path) -> None:
    path = tmp_path / "offer.csv"
    path.write_text("item,bandwidth_gbps,usd,name\nswitch,,50000,NVIDIA SN5600\n")
    bill = network_bill("ideal-switch", 64, 2, 400e9, pricing_of(str(path)))
    (line,) = (line for line in bill.lines if line.item == "switch")
    assert (line.name, line.count, line.total_usd) == ("NVIDIA SN5600", 1, 50_000)
    assert not [line for line in bill.lines if line.item == "electrical_port"]
    # its watts are those of its 64 ports of 800 Gb/s
    assert line.unit_w == pytest.approx(64 * 14.27)


def test_a_network_whose_parts_all_have_prices_is_bought_before_one_that_is_left_open() -> None:
    # the list of 2025 has no breakout cable, so ports stay whole
    bill = network_bill("ideal-switch", 64, 2, 400e9, pricing_of("2025"))
    assert bill.price_missing == ()
    assert [plane.model.split for plane in bill.planes] == [1]
