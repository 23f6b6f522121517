"""What is priced is what is simulated: ports, cables, oversubscription and tiers of each fabric, bill against model."""

import numpy as np
import pytest

from topoopt.catalog import NETWORKS
from topoopt.finder import FabricRequest, FabricShape, build_fabric
from topoopt.pricing import Bill, network_bill, pricing_of
from topoopt.topologies import Topology

LENGTH_M = 10.0
PRICING = pricing_of(fiber_length_m=LENGTH_M)
CLUSTERS = ((16, 4, 100e9), (64, 8, 400e9), (600, 2, 400e9))


def bill_of(name: str, cluster: tuple[int, int, float]) -> Bill:
    return network_bill(name, *cluster, PRICING)


def model_of(name: str, cluster: tuple[int, int, float]) -> Topology:
    whole_bps = cluster[1] * cluster[2]
    return build_fabric(
        NETWORKS[name].carried_as, FabricRequest(*cluster, server_bandwidth_bps=whole_bps)
    ).topology


def count(bill: Bill, item: str) -> float:
    return sum(line.count for line in bill.lines if line.item == item)


def ports_of_cards(bill: Bill) -> float:
    cards = [line for line in bill.lines if line.item == "nic"]
    return sum(line.count * int(line.name.removesuffix(" ports") or 1) for line in cards)


GRAPHS = NETWORKS.that(lambda one: not one.closed_form)
SWITCHED = NETWORKS.that(lambda one: one.switched and one.wire is not None and one.closed_form)
DIRECT = NETWORKS.that(lambda one: one.carried_as == "topoopt" or (one.cabled and not one.own_ports))


@pytest.mark.parametrize("cluster", CLUSTERS, ids=str)
@pytest.mark.parametrize("name", [*SWITCHED, *GRAPHS, *DIRECT])
def test_servers_have_the_interfaces_that_are_paid(name: str, cluster: tuple[int, int, float]) -> None:
    servers, degree, speed_bps = cluster
    bill, model = bill_of(name, cluster), model_of(name, cluster)
    assert ports_of_cards(bill) == servers * degree
    out_bps = np.bincount(model.src, model.bandwidth_bps, model.nodes)[:servers]
    assert out_bps == pytest.approx(np.full(servers, degree * speed_bps))


@pytest.mark.parametrize("cluster", CLUSTERS, ids=str)
@pytest.mark.parametrize("name", DIRECT)
def test_cables_are_the_links_of_the_wiring(name: str, cluster: tuple[int, int, float]) -> None:
    """A cable from server to server is both directions of a link; through a panel or a switch it takes two fibers.

    A torus spreads the ports of a server evenly over its neighbors: its links have the bandwidth of the cables.
    """
    bill, model = bill_of(name, cluster), model_of(name, cluster)
    cables = round(float(model.bandwidth_bps.sum()) / 2 / cluster[2], 6)
    assert count(bill, "fiber_m") / LENGTH_M == cables * (1 if NETWORKS[name].cabled else 2)


@pytest.mark.parametrize("cluster", CLUSTERS, ids=str)
@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_of_switches_is_bought_cable_by_cable(name: str, cluster: tuple[int, int, float]) -> None:
    bill = bill_of(name, cluster)
    model = build_fabric(name, FabricRequest(*cluster, shape=FabricShape(switches=True))).topology
    assert count(bill, "fiber_m") / LENGTH_M == int(model.ports.sum()) // 2
    ends = np.bincount(model.src, model.ports)[cluster[0] :]
    bought = sum(
        line.count * (line.bandwidth_bps or 0.0) for line in bill.lines if line.item == "electrical_port"
    )
    assert bought >= ends.sum() * cluster[2]


@pytest.mark.parametrize("cluster", CLUSTERS, ids=str)
@pytest.mark.parametrize("name", SWITCHED)
def test_switches_carry_what_the_model_carries(name: str, cluster: tuple[int, int, float]) -> None:
    """Of every tree, links up over ports of servers: 1 where nothing blocks, 1/2 at 2:1, where the model has as few."""
    servers, degree, speed_bps = cluster
    ratio, trees = NETWORKS[name].oversubscription, bill_of(name, cluster).planes
    assert sum(plane.tree.hosts * plane.count for plane in trees) == servers * degree
    for plane in trees:
        tree = plane.tree
        assert tree.tiers > 1 or ratio == 1
        if tree.tiers > 1:  # up to one link a leaf more, where ports do not divide
            assert 0 <= tree.leaf_links - tree.hosts / ratio < tree.leaves * (1 + 1 / ratio)
    model = model_of(name, cluster)
    leaves = np.unique(model.dst[model.src < servers])
    up = np.isin(model.src, leaves) & (model.dst >= servers)
    up_bps = float(model.bandwidth_bps[up].sum())
    if up_bps:  # leaves that are not full keep all their uplinks
        assert up_bps >= servers * degree * speed_bps / ratio * (1 - 1e-9)
        busiest = np.bincount(model.dst[model.src < servers]).max()
        full_bps = busiest * float(model.bandwidth_bps[model.src < servers][0])
        assert float(np.bincount(model.src[up], model.bandwidth_bps[up]).max()) == pytest.approx(
            full_bps / ratio, rel=1e-9
        )
    else:
        assert ratio == 1


def test_cards_of_several_ports_are_bought_where_they_cost_less() -> None:
    """Two ports of 100 Gb/s: one card of both, priced as one of 200 Gb/s; the paper counts a card for each."""
    (card,) = (line for line in bill_of("topoopt", (16, 4, 100e9)).lines if line.item == "nic")
    assert (card.count, card.bandwidth_bps, card.name, card.unit_usd) == (32, 200e9, "2 ports", 1079)
    three = [line for line in bill_of("topoopt", (16, 3, 100e9)).lines if line.item == "nic"]
    assert [(line.count, line.name) for line in three] == [(16, ""), (16, "2 ports")]
    paper = network_bill("topoopt", 16, 4, 100e9, pricing_of(accounting="paper"))
    (card,) = (line for line in paper.lines if line.item == "nic")
    assert (card.count, card.name) == (64, "")


def test_a_speed_between_two_that_are_sold_is_bought_as_the_faster() -> None:
    between, faster = (bill_of("topoopt", (16, 2, speed_bps)) for speed_bps in (150e9, 200e9))
    module = next(line for line in between.lines if line.item == "transceiver")
    assert module.unit_usd == next(line for line in faster.lines if line.item == "transceiver").unit_usd
    assert module.basis == "as for 200 Gb/s, the slowest listed that is enough"
