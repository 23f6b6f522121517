"""The published figures that we can check, against what is counted or computed another way here."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import networkx
import pytest

from tests.plugins.papers.studies_run import compared, run
from topoopt.plugins.papers.published_jobs import BATCHES, circulant_strides
from topoopt.pricing import PAPER, bill_of_materials, find_prices

pytestmark = pytest.mark.reproduction


def rows(figure: str, **wanted: Any) -> list[Any]:
    return [row for row in run(figure).rows if all(row[key] == value for key, value in wanted.items())]


def hops_by_search(servers: int, offsets: Iterable[int]) -> list[int]:
    """How many servers are 1, 2, … hops from server 0, by another program's search."""
    steps = list(offsets)
    graph = networkx.DiGraph((i, (i + step) % servers) for i in range(servers) for step in steps)
    lengths = networkx.single_source_shortest_path_length(graph, 0).values()
    return [sum(length == hops for length in lengths) for hops in range(1, max(lengths) + 1)]


def test_the_released_strides() -> None:
    assert circulant_strides(4) == (1, 13)
    assert circulant_strides(8) == (1, 5, 13, 39)


def test_path_lengths_are_those_of_a_search_from_every_wiring() -> None:
    figure = run("fig14")
    keys = ("servers", "degree", "links", "strides")
    for key in dict.fromkeys(tuple(row[name] for name in keys) for row in figure.rows):
        found = rows("fig14", **dict(zip(keys, key, strict=True)))
        servers, links, strides = found[0]["servers"], found[0]["links"], found[0]["strides"].split("+")
        offsets = [int(stride) for stride in strides]
        if links == "duplex":
            offsets += [servers - stride for stride in offsets]
        by_hops = {row["hops"]: row["ordered_pairs"] // servers for row in found}
        assert list(by_hops.values()) == hops_by_search(servers, offsets)
        assert found[-1]["share_within"] == 1


def test_no_wiring_of_ours_is_worse_than_a_published_one() -> None:
    for row in rows("fig14", rule="best"):
        same = {key: row[key] for key in ("servers", "degree", "links")}
        for other in rows("fig14", **same):
            assert (row["diameter"], row["average_hops"]) <= (other["diameter"], other["average_hops"])


def test_the_tax_is_that_of_the_talk() -> None:
    (first,) = rows("fig13", degree=4, batch_per_accelerator=64)
    assert round(first["tax_counted"], 2) == round(first["tax_closed_form"], 2) == 1.11


def test_the_tax_grows_with_the_batch_and_falls_with_the_degree() -> None:
    four, eight = ([row["tax_counted"] for row in rows("fig13", degree=degree)] for degree in (4, 8))
    assert all(a < b for a, b in pairwise(four))
    assert all(a > b for a, b in zip(four, eight, strict=True))


def test_the_counted_tax_is_the_closed_form_of_the_counted_ratio() -> None:
    for row in rows("fig13"):
        r, h = row["all_to_all_over_allreduce"], row["average_hops"]
        assert row["tax_counted"] == pytest.approx((1 + r * h) / (1 + r), rel=1e-9)


def test_bytes_of_the_released_files() -> None:
    assert compared(run("fig15"), "AllReduce bytes of the busiest link") == 337_163_664
    assert compared(run("fig15"), "AllReduce bytes of the least loaded link") == 337_163_664
    assert 2 * 127 * 1_359_273_988 // 128 // 8 == 337_163_664


@pytest.mark.long
def test_bytes_of_a_transfer_are_those_of_the_released_files() -> None:
    assert compared(run("fig12"), "bytes of the commonest transfer") == 2 * (4 * 256) * 128 * 4


def test_balanced_routes_keep_the_busiest_link_near_the_mean() -> None:
    for row in rows("fig15"):
        over = {"coin-change": (1, 1.06), "k-shortest": (1, 1.2), "single-shortest": (1, 6)}[row["routing"]]
        assert over[0] - 1e-9 <= row["busiest_over_mean"] <= over[1], row
    for batch in BATCHES:
        means = {
            round(row["mean_link_bytes"]) for row in rows("fig15", degree=4, batch_per_accelerator=batch)
        }
        assert len(means) == 1, "all routes are shortest: they move the same bytes over as many links"


@pytest.mark.long
def test_the_all_to_all_makes_topoopt_lose_at_large_batches_only() -> None:
    def times_ms(fabric: str, degree: int) -> list[float]:
        found = rows("fig12", fabric=fabric, degree=degree, embedding_bytes_factor=2)
        return [row["iteration_time_s"] * 1e3 for row in found]

    ours, tree, ideal = (
        times_ms(name, 4) for name in ("TopoOpt, released strides", "fat-tree, d·B/3.2", "ideal switch")
    )
    assert ours[1] < 0.5 * tree[1]
    assert ours[-1] > tree[-1]
    assert all(a < b for a, b in zip(ideal, ours, strict=True))
    assert times_ms("TopoOpt, released strides", 8)[-1] < times_ms("fat-tree, d·B/3.2", 8)[-1], (
        "d=8 mitigates"
    )


@pytest.mark.long
def test_the_iteration_is_never_shorter_than_its_computation() -> None:
    assert all(row["iteration_time_s"] >= row["compute_time_s"] for row in rows("fig12"))


def test_prices_are_those_of_the_bill() -> None:
    (row,) = rows("fig10", fabric="topoopt", servers=128, degree=4)
    assert row["cost_usd"] == bill_of_materials("topoopt", 128, 4, 100e9, find_prices("2022"), PAPER).cost_usd
    assert row["cost_per_server_usd"] == 4 * (99 + 678 + 2 * 100 + 25 + 2 * 500 * 0.30)


def test_no_accounting_gives_both_published_ratios() -> None:
    ratios = [(row["ocs_over_panel"], row["ideal_over_topoopt"]) for row in rows("fig10", what="ratios")]
    off = [max(abs(optical / 1.33 - 1), abs(ideal / 3.2 - 1)) for optical, ideal in ratios]
    assert len(off) > 40
    assert off == sorted(off)
    assert 0.04 < off[0] < 0.05
