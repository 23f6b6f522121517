"""The points of a plan's charts, against the simulation and against each other."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from topoopt.catalog import ClusterSpec
from topoopt.jobs import JobSettings, make_job, operators_of, traffic_job
from topoopt.pages import Notes, TimelineChart, make_page
from topoopt.pages import plan_facts as plan_network
from topoopt.pages.operators_page import strategy_table
from topoopt.pages.paper_figure import axes_of
from topoopt.pages.plan_facts import hops_chart, ring_lines, topology_circle
from topoopt.pages.report import bounds_chart, convergence_chart
from topoopt.pages.screen import figure
from topoopt.pages.work_page import (
    allreduce_matrix,
    busiest_server,
    heatmap,
    in_blocks,
    iteration_timeline,
    link_load_distribution,
    link_matrix,
    traffic_maps,
    where_the_time_goes,
)
from topoopt.plans import Plan
from topoopt.routing import link_loads, make_routes
from topoopt.search import SearchOptions, make_plan
from topoopt.simulation import SimResult, timeline
from topoopt.workloads import load_model
from topoopt.workloads.traffic import traffic_from_matrix


def test_what_links_carry_is_allreduce_and_the_routed_transfers(plan: Plan, result: SimResult) -> None:
    """Rings of this plan are direct, so AllReduce bytes lie on the links between neighbors."""
    fabric = plan.fabric
    routed = link_loads(fabric.topology, fabric.routes, plan.traffic().mp_matrix())
    expected = allreduce_matrix(plan)
    expected[fabric.topology.src, fabric.topology.dst] += routed
    np.testing.assert_allclose(link_matrix(plan, result), expected, rtol=1e-9)


def test_allreduce_of_a_group_puts_twice_its_bytes_less_one_share_on_the_wire(plan: Plan) -> None:
    assert allreduce_matrix(plan).sum() == pytest.approx(plan.traffic().allreduce_wire_bytes)


def test_the_three_maps_have_a_row_for_every_server(plan: Plan, result: SimResult) -> None:
    maps = traffic_maps(plan, result)
    assert [chart.name for chart in maps] == ["allreduce_traffic", "model_parallel_traffic", "link_traffic"]
    for chart in maps:
        assert len(chart.values) == plan.job.cluster.servers
        assert {len(row) for row in chart.values} == {plan.job.cluster.servers}
    assert sum(map(sum, maps[1].values)) == plan.traffic().mp_bytes


@pytest.mark.parametrize("side", [1, 5, 256, 257, 600])
def test_blocks_keep_every_byte(side: int) -> None:
    matrix = np.random.default_rng(side).random((side, side))
    cells, block = in_blocks(matrix, 256)
    assert len(cells) == -(-side // block) <= 256
    assert cells.sum() == pytest.approx(matrix.sum())
    assert cells[0, -1] == pytest.approx(matrix[:block, (len(cells) - 1) * block :].sum())


def test_colors_are_by_the_logarithm_only_where_bytes_differ_much() -> None:
    assert not heatmap("a", "A", np.array([[0.0, 20.0], [1.0, 0.0]])).value_log
    assert heatmap("a", "A", np.array([[0.0, 2000.0], [1.0, 0.0]])).value_log


def test_maps_beside_each_other_have_equal_colors_for_equal_bytes(plan: Plan, result: SimResult) -> None:
    maps = traffic_maps(plan, result)
    above = [value for chart in maps for row in chart.values for value in row if value > 0]
    (span,) = {chart.value_range for chart in maps}
    assert span is not None
    assert (span[0] in (0.0, min(above)), span[1]) == (True, max(above))
    first = figure(maps[0])
    assert first["range"] == list(span)
    colors = axes_of(maps[0]).images[0]
    assert (colors.norm.vmin, colors.norm.vmax) == span


def test_the_link_distribution_ends_at_the_busiest_link(plan: Plan, result: SimResult) -> None:
    chart = link_load_distribution(plan, result)
    (line,), (mean,) = chart.series, chart.x_limits
    assert line.y[0] == 0
    assert line.y[-1] == 1
    assert list(line.y) == sorted(line.y)
    assert float(line.x[-1]) == pytest.approx((result.link_bytes / plan.fabric.topology.ports).max() / 1e6)
    assert mean.value == pytest.approx((result.link_bytes / plan.fabric.topology.ports).mean() / 1e6)


def test_the_timeline_has_every_operator_of_the_server_and_no_overlap(plan: Plan, result: SimResult) -> None:
    server = busiest_server(result)
    chart = iteration_timeline(result, server)
    assert chart.lanes[0] == "compute"
    for lane in range(len(chart.lanes)):
        bars = sorted((bar for bar in chart.bars if bar.lane == lane), key=lambda bar: bar.start_s)
        assert all(a.finish_s <= b.start_s for a, b in itertools.pairwise(bars))
    computed = {
        row.operator for row in timeline(result, server) if row.phase == "forward" and row.finish_s > 0
    }
    drawn = {bar.label.split()[0] for bar in chart.bars if bar.kind == "forward computation"}
    assert drawn == computed
    assert max(bar.finish_s for bar in chart.bars) == pytest.approx(result.iteration_time_s)


def test_the_critical_path_sums_to_the_iteration_time(result: SimResult) -> None:
    parts = where_the_time_goes(result).series
    assert sum(one.y[0] for one in parts) == pytest.approx(result.iteration_time_s * 1e3)


def test_shares_of_hops_sum_to_one(plan: Plan, result: SimResult) -> None:
    pairs, size_bytes = hops_chart(plan, result).series
    assert sum(pairs.y) == pytest.approx(1)
    assert sum(size_bytes.y) == pytest.approx(1)
    assert pairs.x[0] == "1"


def test_the_circle_has_every_link_and_a_way_between_any_two(plan: Plan, result: SimResult) -> None:
    chart = topology_circle(plan, result)
    topology = plan.fabric.topology
    linked = {(src, dst) for src, dst, _, _ in chart.links}
    assert linked == set(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    assert sum(size for *_, size in chart.links) == pytest.approx(result.link_bytes.sum())
    n = chart.servers
    for route in chart.routes:
        assert sum(weight for weight, _ in route.paths) == pytest.approx(1, abs=0.01)
        for _, nodes in route.paths:
            assert (nodes[0], nodes[-1]) == (route.src, route.dst)
            assert set(itertools.pairwise(nodes)) <= linked
    assert chart.turned
    assert {(route.src, route.dst) for route in chart.routes} == {(0, dst) for dst in range(1, n)}


def test_turned_routes_are_those_of_the_other_servers(plan: Plan, result: SimResult) -> None:
    """What the page does with the routes of server 0 gives the routes that the plan has."""
    chart, n = topology_circle(plan, result), plan.fabric.topology.servers
    for route in chart.routes:
        for src in (1, n - 1):
            turned = {tuple((node + src) % n for node in nodes) for _, nodes in route.paths}
            real = plan.fabric.routes.paths(src, (route.dst + src) % n)
            assert turned == {path.nodes for path in real if path.weight > 5e-4}


def test_of_many_pairs_those_with_the_most_bytes_have_room(
    plan: Plan, result: SimResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    routes = make_routes("ecmp", plan.fabric.topology)
    many = replace(plan, fabric=replace(plan.fabric, routes=routes))
    everything = topology_circle(many, result).routes
    n = plan.fabric.topology.servers
    assert len(everything) == n * (n - 1)
    monkeypatch.setattr(plan_network, "MOST_PAIRS", 60)
    monkeypatch.setattr(plan_network, "MOST_NODES", 0)
    monkeypatch.setattr(plan_network, "LEAST_NODES", 100)
    found = topology_circle(many, result).routes
    pairs = [(route.src, route.dst) for route in found]
    assert pairs == sorted(pairs)
    assert sum(len(nodes) for route in found for _, nodes in route.paths) <= 100
    assert 5 < len(found) < 60
    sizes = plan.traffic().mp_matrix()
    assert min(sizes[pair] for pair in pairs) >= np.sort(sizes, axis=None)[-60]


def test_both_directions_of_a_duplex_ring_are_one_line(plan: Plan) -> None:
    lines = list(ring_lines(plan))
    assert len(lines) == len({line.name for line in lines}) == len(plan.strides)
    assert [line.name for line in lines] == [f"stride ±{stride}" for stride in plan.strides]


def test_every_operator_is_in_the_table(plan: Plan) -> None:
    names = [row[0] for row in strategy_table(plan).rows]
    assert names == [operator.name for operator in operators_of(plan.job).graph.operators]


def test_bounds_and_convergence_are_those_of_the_plan(plan: Plan) -> None:
    bound, *own = bounds_chart(plan).series
    assert np.nanmax(bound.y) == pytest.approx(plan.bounds.lower_bound_s * 1e3)
    assert own[0].y[-1] == plan.bounds.lower_bound_s * 1e3
    assert sum(part.y[-1] for part in own) == pytest.approx(plan.outcome.iteration_time_s * 1e3, rel=1e-12)
    (alone,) = bounds_chart(replace(plan, gap_parts=None)).series[1:]
    assert alone.y[-1] == plan.outcome.iteration_time_s * 1e3
    (chart,) = convergence_chart(plan)
    best = chart.series[0].y
    assert list(best) == sorted(best, reverse=True)
    assert best[0] == plan.search.convergence[0][1] * 1e3


def test_a_job_known_by_its_traffic_has_no_strategy_and_no_convergence() -> None:
    demand = np.zeros((7, 7))
    demand[0, 3], demand[1, 4], demand[2, 0] = 1e7, 2e7, 3e7
    job = traffic_job("shuffle", traffic_from_matrix(demand), ClusterSpec(7, 3, 100e9))
    page = make_page(make_plan(job, SearchOptions(budget=10), fabrics=("ideal-switch",)))
    assert [section.key for section in page.sections] == [
        "advice",
        "job",
        "network",
        "time",
        "quality",
        "fabrics",
        "search",
        "traffic",
        "trust",
    ]
    charts = {chart.name: chart for chart in page.charts}
    # bytes that are sent at once have a critical path of one part
    assert charts.keys().isdisjoint({"convergence", "allreduce_traffic", "critical_path"})
    assert charts["timeline"].lanes == ("transfers",)  # type: ignore[union-attr]


def test_routes_that_are_not_turned_are_written_for_every_pair() -> None:
    job = make_job(load_model("dlrm", servers=16), ClusterSpec(6, 3, 100e9), JobSettings())
    plan = make_plan(job, SearchOptions(budget=20, routing="k-shortest", balance=False), fabrics=())
    circle = next(chart for chart in make_page(plan).charts if chart.name == "topology")
    assert not circle.turned  # type: ignore[union-attr]
    assert len(circle.routes) == 6 * 5  # type: ignore[union-attr]


def test_a_plan_that_no_longer_takes_as_long_is_told(plan: Plan) -> None:
    other = replace(plan, outcome=replace(plan.outcome, iteration_time_s=2 * plan.outcome.iteration_time_s))
    assert any("Simulated again" in warning for warning in make_page(other).warnings)
    assert not any("Simulated again" in warning for warning in make_page(plan).warnings)


def test_why_a_network_has_no_price_and_a_fabric_is_missing_is_said_once(plan: Plan) -> None:
    bare = replace(
        plan,
        price={"cost_usd": None, "note": "prices 2022: the list ends at 200 Gb/s"},
        skipped_fabrics=(("rail", "rail: needs two servers"),),
    )
    fabrics = next(section for section in make_page(bare).sections if section.key == "fabrics")
    assert Notes(("without rail: needs two servers",)) in fabrics.blocks
    assert Notes(("topoopt has no price: prices 2022: the list ends at 200 Gb/s",)) in fabrics.blocks


def test_the_page_names_the_price_list_and_the_accounting(plan: Plan) -> None:
    fabrics = next(section for section in make_page(plan).sections if section.key == "fabrics")
    assert Notes(("prices: list 2026, accounting complete",)) in fabrics.blocks
    linear = replace(plan, price={**plan.price, "link_technology": "linear"})
    fabrics = next(section for section in make_page(linear).sections if section.key == "fabrics")
    assert Notes(("prices: list 2026, accounting complete, linear links",)) in fabrics.blocks


def test_the_page_names_the_server_of_the_timeline(plan: Plan, result: SimResult) -> None:
    page = make_page(plan)
    time = next(section for section in page.sections if section.key == "time")
    timeline = next(block for block in time.blocks if isinstance(block, TimelineChart))
    assert f"One iteration of server {busiest_server(result)}" in timeline.title
