"""The fabrics of a cluster have prices by one list; what the list leaves open is said, and nothing is dropped."""

from dataclasses import replace
from itertools import product

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec, compared_by
from topoopt.clusters import (
    ClusterResult,
    ClusterSettings,
    PanelSettings,
    Trace,
    TraceJob,
    result_from_mapping,
    run_cluster,
)
from topoopt.pages import Notes, make_page
from topoopt.pricing import Accounting, Pricing, find_prices, known_price, pricing_of
from topoopt.search import SearchOptions

FAST = ClusterSettings(ClusterSpec(32, 4, 400e9), search=SearchOptions(budget=0, balance=False))
TRACE = Trace("t", (TraceJob("a", "vgg16", 16, 0.0, iterations=10),))
ALL = ["topoopt", "ideal-switch", "fat-tree (d·B/3.2)", "fat-tree (priced)", "oversub-fat-tree", "rail"]


@pytest.fixture(scope="module")
def result() -> ClusterResult:
    return run_cluster(TRACE, FAST)


def test_at_400_gbps_every_default_fabric_is_there_with_its_price(result: ClusterResult) -> None:
    """The list of 2022 was the default here and ends at 200 Gb/s: both fat-trees were dropped."""
    assert [run.label for run in result.fabrics] == ALL
    assert result.skipped == ()
    assert result.settings["prices"] == "2026"
    for run in result.fabrics:
        if run.fabric != "fat-tree":
            interfaces = 4
            look_ahead = Pricing(find_prices("2026"), Accounting(look_ahead=True))
            price = known_price(run.fabric, 32, interfaces, run.server_bandwidth_bps / interfaces, look_ahead)
            assert price.cost_usd is not None
            assert (run.cost_usd, run.power_w) == (price.cost_usd, price.power_w)
    by_label = {run.label: run.cost_usd or 0.0 for run in result.fabrics}
    assert 0 < by_label["fat-tree (priced)"] <= by_label["topoopt"]


def test_whoever_beats_a_fabric_is_named(result: ClusterResult) -> None:
    figures = {run.label: (run.cost_usd or 0.0, run.iteration_time_s.mean) for run in result.fabrics}
    beaten: dict[str, set[str]] = {label: set() for label in figures}
    for (one, (usd, time_s)), (other, (other_usd, other_s)) in product(figures.items(), figures.items()):
        no_worse = other_usd <= usd and other_s <= time_s * (1 + 1e-12)
        if no_worse and (other_usd < usd or other_s < time_s * (1 - 1e-9)):
            beaten[one].add(other)
    assert {run.label: set(run.dominated_by) for run in result.fabrics} == beaten
    assert {run.label for run in result.fabrics if run.on_front} == {
        label for label, others in beaten.items() if not others
    }
    assert result_from_mapping(result.to_json()).fabrics == result.fabrics


def test_what_a_list_cannot_dimension_is_said_and_the_rest_of_that_name_stays() -> None:
    old = run_cluster(TRACE, replace(FAST, prices="2022"), ("topoopt", "fat-tree"))
    assert [run.label for run in old.fabrics] == ["topoopt", "fat-tree (d·B/3.2)"]
    assert old.fabrics[0].cost_usd is None
    ((label, reason),) = old.skipped
    assert label == "fat-tree (priced)"
    assert "2022" in reason
    blocks = make_page(old).sections[0].blocks
    left_out, unpriced = [block for block in blocks if isinstance(block, Notes) and block.warn]
    assert left_out.lines[0].startswith("without fat-tree (priced): ")
    assert unpriced.lines == ("the list 2022 has no price of topoopt",)
    with pytest.raises(InvalidInput, match="shared fabric: sip-ml changes its circuits"):
        run_cluster(TRACE, FAST, ("sip-ml",))
    with pytest.raises(InvalidInput, match="fabrics: none leaves nothing to run on"):
        run_cluster(TRACE, FAST, ())


def test_panels_are_counted_once_without_look_ahead(result: ClusterResult) -> None:
    plain = replace(FAST, panels=PanelSettings(look_ahead=False))
    (once,) = run_cluster(TRACE, plain, ("topoopt",)).fabrics
    rule = Accounting(look_ahead=False, look_ahead_fiber=False)
    price = known_price("topoopt", 32, 4, 400e9, replace(pricing_of("2026"), accounting=rule))
    assert price.cost_usd is not None
    assert once.cost_usd == price.cost_usd
    assert (once.cost_usd or 0.0) < (result.fabrics[0].cost_usd or 0.0)


def test_rails_are_among_the_fabrics_that_are_run_if_none_is_named() -> None:
    assert compared_by("cluster") == ("topoopt", "ideal-switch", "fat-tree", "oversub-fat-tree", "rail")
