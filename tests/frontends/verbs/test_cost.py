"""``topoopt.cost`` answers in Python what the command prints."""

import pytest

import topoopt
from tests.frontends.verbs.conftest import Printed, as_json


def test_the_words_are_the_flags(printed: Printed) -> None:
    flags = ["--servers", "32", "--degree", "8", "--prices", "2025", "--change-every", "1s", "--no-nics"]
    costs = topoopt.cost(servers=32, degree=8, prices="2025", change_every="1s", nics=False, ratios=True)
    assert printed("cost", *flags, "--ratios") == as_json(costs.to_json())


def test_a_fabric_is_a_row() -> None:
    table = topoopt.cost(fabrics=["topoopt", "fat-tree"]).to_frame()
    assert table["fabric"].to_list() == ["topoopt", "fat-tree"]
    bills = {offer.bill.fabric: offer.bill for offer in topoopt.cost().offers}
    assert table["cost_usd"].to_list() == [bills[name].cost_usd for name in ("topoopt", "fat-tree")]
    assert topoopt.cost(prices="2022", accounting="paper", fabrics=["topoopt", "fat-tree"]).to_frame()[
        "cost_usd"
    ].to_list() == pytest.approx([666_624, 1_360_384])


def test_a_plan_has_a_cluster_of_its_own() -> None:
    plan = topoopt.plan("dlrm", servers=8, degree=2, fabrics=(), budget=0)
    costs = topoopt.cost(plan, fabrics=["topoopt"])
    assert costs.network.cluster == plan.job.cluster
    assert costs.offers[0].bill.cost_usd == plan.price["cost_usd"]
    with pytest.raises(topoopt.InvalidInput, match="servers: this is a plan, whose cluster is fixed"):
        topoopt.cost(plan, servers=4)


def test_a_misspelled_word_gets_the_nearest() -> None:
    with pytest.raises(topoopt.InvalidInput, match="did you mean shards"):
        topoopt.cost(shrads=2)  # type: ignore[call-arg]
